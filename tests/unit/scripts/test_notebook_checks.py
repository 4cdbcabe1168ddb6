"""The checks of notebooks: each finds what it is there to find, in a bad notebook.

That they find nothing else is shown by the book's own.
"""

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from notebook_checks import check_lab_links, findings, reader_findings

LOCAL = "/home/someone/course"


def printed(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def result(kind, data="…"):
    return new_output("display_data", data={kind: data, "text/plain": "…"})


def cell(source="print(1)", *outputs, tags=()):
    return new_code_cell(source, outputs=[*outputs], metadata={"tags": [*tags]})


JUDGE = 'check("ex1_sum", ex1_sum)'
SOLUTION = [
    new_markdown_cell("```{exercise-end}\n```\n\n```{solution-start} ex1-sum\n```"),
    cell(JUDGE, printed("ex1_sum: your turn.\n")),
    new_markdown_cell("```{solution-end}\n```"),
]
BAD = [
    cell("1", printed("oh\nno\n", "stderr")),
    cell("2", new_output("error", ename="ValueError", evalue="no", traceback=["no"])),
    cell("3", result("image/png")),
    cell("4", result("text/html", '<div class="book-table scroll-box"></div>')),
    cell("fit(model)", printed("")),
    new_markdown_cell(f"Look into {LOCAL}."),
    cell("5", printed(f"saved in {LOCAL}")),
    cell("6", printed("<Model at 0x7f00ab12>")),
    *SOLUTION,
    cell("7", result("application/vnd.jupyter.widget-view+json", {"model_id": "1"})),
    cell("x = 1", tags=["remove-cell"]),
    cell("from a import b", tags=["remove-input"]),
    cell("print(x)"),
    cell("b.c()"),
]
TOLD = [
    "cell 1 ('1'): its execution count is None",
    "cell 1 ('1'): wrote to stderr: no",
    "cell 2 ('2'): ValueError: no",
    "cell 3 ('3'): the alt text '' does not say",
    "cell 3 ('3'): the picture has no name",
    "cell 3 ('3'): has no caption",
    "cell 4 ('4'): has no caption",
    "cell 4 ('4'): the name of a table, and of nothing else, begins with tab-",
    "cell 5 ('fit(model)'): trains or takes time; tag it nbval-ignore-output",
    f"cell 6 ('Look into {LOCAL}.'): names a path of one machine",
    "cell 7 ('5'): names a path",
    "cell 8 ('6'): the output holds an address in memory",
    "the solution isn't right: ex1_sum: your turn",
    "cell 12 ('7'): a widget is stored",
    "cell 15 ('print(x)'): reads x, which is made unseen in cell 13 ('x = 1')",
    "cell 16 ('b.c()'): reads b, which is made unseen in cell 14 ('from a import b')",
]


def test_every_fault_of_a_stored_notebook_is_found():
    found = findings(new_notebook(cells=BAD))
    for told in TOLD:
        assert any(told in line for line in found), found


def test_links_lead_to_the_section_they_name():
    lab = new_notebook(cells=[new_markdown_cell("(lab4-own)=\n## 4.1 Is it itself?")])
    text = "{ref}`Lab 4.1 <lab4-own>`, {ref}`Lab 4.2 <lab4-own>`, Lab 4.1"
    chapter = new_notebook(cells=[new_markdown_cell(text), new_code_cell("# Lab 9.9")])
    assert [*check_lab_links({"lab04_attention": lab, "ch04": chapter})] == [
        "ch04: Lab 4.2 leads to lab4-own, which is not it",
        "ch04: Lab 4.1 is no link: {ref}`Lab 4.1 <label>`",
    ]


# --- The readers' notebooks ---

SOURCE = [
    cell("ex1 = ..."),
    SOLUTION[0],
    cell("four = 4\nex1 = four"),
    cell("alone = 1"),
    SOLUTION[2],
    cell("print(ex1)"),
    cell("print(four)"),
]
READERS = [
    new_markdown_cell("```{margin} Title\nText\n```"),
    new_markdown_cell("(there)=\n## Two\n\nSee {cite:t}`luong`, [a](three.ipynb#x)."),
    new_markdown_cell("<details>\n\nText"),
    cell("four = 4\nex1 = four", printed("ex1: right.\n")),
]
TOLD_OF_READERS = [
    "markup of the book is left: '```{margin} Title'",
    "markup of the book is left: '{cite:t}`luong`'",
    "markup of the book is left: '(there)='",
    "the link to 'three.ipynb#x' leads nowhere",
    "a fold is not closed",
    "its output is that of a solution",
    "the solution stands outside a fold",
    "the solution is missing",
    "its code is not that of the book",
    "the cell 'print(four)' needs four, which only a solution defines",
]


def test_every_fault_of_a_readers_notebook_is_found():
    notebooks = (new_notebook(cells=cells) for cells in (READERS, SOURCE))
    found = reader_findings(*notebooks, {"one.ipynb", "two.ipynb"})
    for told in TOLD_OF_READERS:
        assert any(told in line for line in found), found
    assert not any("print(ex1)" in line for line in found)  # its stub defines it, too
