"""Figures that PyTorch computes anew as the reader moves a control, in any notebook.

- ``explorer``: decides between the live form and the stored still
- ``controls``: what can be moved: sliders, menus, text boxes, switches
- ``views``: what one setting of the controls shows, as HTML
- ``live``: controls and result as ipywidgets; the only module that imports them
- ``shipped``: the translators of the package, and the captions that explorers take
- ``token_maps``: weights between two lists of tokens, of one head or a mean of several

The explorers, one for each idea:

- ``context_contents``: which source words the context holds; chapter 1
- ``caption_alignment``: the alignment map of a typed caption; chapter 2
- ``scores_and_windows``: scores and windows in the worked sentence; chapter 3
- ``queries_and_keys``: a query and four keys in the plane; chapter 4
- ``heads_off``: a translator without some of its heads; chapter 5
- ``masks``: padding, causal and window masks, and their weights; chapter 6
- ``deep_stacks``: deep stacks, by connection and initial weights; chapter 8
- ``toy_heads``: the heads of the toy Transformer on a typed sentence; chapter 9
- ``search_and_sampling``: beam width and temperature; chapter 10
- ``layer_costs``: work, steps and paths of kinds of layer; chapter 11
- ``caption_heads``: the heads of the translator on a typed caption; chapter 12
"""
