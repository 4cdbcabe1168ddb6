"""Figures that PyTorch computes anew as the reader moves a control, in any notebook.

- ``explorer``: decides between the live form and the stored still
- ``controls``: what can be moved: sliders, menus, text boxes, switches
- ``views``: what one setting of the controls shows, as HTML
- ``with_kernel``: controls and result as ipywidgets; the only module that imports them
- ``shipped``: the translators of the package, and the captions that explorers take
- ``token_maps``: weights between two lists of tokens, of one head or a mean of several
"""
