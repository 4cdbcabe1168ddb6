"""Fetch the browser assets that the book carries, so that no page loads from afar.

Run from anywhere: ``python scripts/vendor_assets.py``. It needs npm and a network; the
versions and their checksums stand in ``scripts/vendor`` and below, and the files that
it writes below ``book/_static/vendor`` are part of the repository, and so are the fonts
of figures, which the package carries.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

PACKAGES = Path(__file__).parent / "vendor"
ROOT = Path(__file__).resolve().parents[1]
VENDOR = ROOT / "book" / "_static" / "vendor"
PLOT_FONTS = ROOT / "code" / "attnbook" / "course" / "kit" / "fonts"
FONTS = {
    "serif": ("serif-4", "normal", "italic"),
    "sans": ("sans-3", "normal", "italic"),
    "code": ("code-pro", "normal"),
}
# The font of formulas: no package of npm has it, and this one of Python's carries it.
STIX = ("ziamath==0.13", "ziamath/fonts/STIXTwoMath-Regular.ttf")
STIX_SHA256 = "8f42cb183a85043a4dc3f8e41ac3821eb27bf178d68ace929ba439523622323c"
# Letters upright and italic, Latin and Greek, and the signs that such a book may need.
LETTERS = (
    *((0x20, 0x7F), (0x391, 0x3CA), (0x1D434, 0x1D468), (0x1D6E2, 0x1D71C)),
    (0x302, 0x305),  # accents
)
SIGNS = "×·±¯˙˜ˆℎℓℝϕϑϵ…′″‾⁡⃗←→↔↦⇐⇒⇔⟵⟶⟺∀∂∃∅∇∈∉∏∑−∓∗∘∙√∝∞∣∥‖∩∪∫≈≠≡≤≥≪≫⊂⊆⊙⊕⊗⊤⊥⋅⋮⋯⋱⌈⌉⌊⌋⏞⏟⟨⟩"
STYLE = "Temml-STIX2.css"
FEATURES = ["ssty", "dtls", "flac", "ss04"]  # what mathematics and Temml ask for

# Matplotlib reads neither WOFF2 nor variable fonts: the sans of the pages once more, by
# style, with Latin and Greek, and all signs from punctuation to the last symbols.
PLOT_STYLES = {"Regular": ("Regular", 400), "Semibold": ("Bold", 700)}
# Above and below letters, and between lines: as in matplotlib's own font, or else plots
# would lose room.
PLOT_LINE = {"sTypoAscender": 710, "sTypoDescender": -230, "sTypoLineGap": 160}
PLOT_FAMILY = "Attnbook Sans"  # a font that was changed may not be called Source
PLOT_LETTERS = (*range(0x20, 0x180), *range(0x370, 0x400), *range(0x2000, 0x2800))


def kept() -> Iterator[tuple[str, str]]:
    """Yield paths in `node_modules`, each with its path below `VENDOR`."""
    yield "temml/LICENSE", "temml/LICENSE"
    for file in ("temml.min.js", STYLE):
        yield f"temml/dist/{file}", f"temml/{file}"
    for family, (name, *styles) in FONTS.items():
        package = f"@fontsource-variable/source-{name}"
        yield f"{package}/LICENSE", f"source-{family}/LICENSE"
        for style in styles:
            file = f"{package}/files/source-{name}-latin-wght-{style}.woff2"
            yield file, f"source-{family}/{style}.woff2"


def write_maths_font(folder: Path) -> None:
    """Write the font of formulas, with no more signs than a page may show.

    Until it has come, formulas are shown in another.
    """
    package, file = STIX
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--target", folder, package, "brotli"], check=True)
    sys.path.append(str(folder))  # fontTools packs with brotli
    found = (folder / file).read_bytes()
    if hashlib.sha256(found).hexdigest() != STIX_SHA256:
        raise SystemExit(f"{package} has another font than it had.")
    with TTFont(folder / file, recalcTimestamp=False) as font:
        options = Options(layout_features=FEATURES, hinting=False, glyph_names=False)
        chosen = Subsetter(options)
        codes = {code for start, end in LETTERS for code in range(start, end)}
        chosen.populate(unicodes=codes | {*map(ord, SIGNS)})
        chosen.subset(font)
        font.flavor = "woff2"
        font.save(VENDOR / "temml" / "STIXTwoMath.woff2")
        licence = (VENDOR / "source-serif" / "LICENSE").read_text(encoding="utf-8")
        _, terms = licence.split("\n", 1)  # the same, below a line with the owner
        owner = font["name"].getDebugName(0)
        path = VENDOR / "temml" / "LICENSE-STIX"
        path.write_text(f"{owner}\n{terms}", encoding="utf-8")
    path = VENDOR / "temml" / STYLE
    style = path.read_text(encoding="utf-8")
    rule = "font-family: STIX2;\n"
    path.write_text(style.replace(rule, f"{rule}  font-display: swap;\n", 1), "utf-8")


def write_plot_fonts(package: Path) -> None:
    """Write the fonts of figures, under a name of their own, with their licence."""
    shutil.rmtree(PLOT_FONTS, ignore_errors=True)
    PLOT_FONTS.mkdir()
    shutil.copy(package / "LICENSE.md", PLOT_FONTS)
    for style, (name, weight) in PLOT_STYLES.items():
        file = package / "TTF" / f"SourceSans3-{style}.ttf"
        with TTFont(file, recalcTimestamp=False) as font:
            options = Options(layout_features=["kern"], hinting=False)
            options.name_IDs = [0, 5, 13, 14]  # the owner, the version, the licence
            chosen = Subsetter(options)
            chosen.populate(unicodes=PLOT_LETTERS)
            chosen.subset(font)
            vars(font["OS/2"]).update(PLOT_LINE, usWeightClass=weight)
            full = f"{PLOT_FAMILY} {name}"
            postscript = full.replace(" ", "")
            for number, text in zip(
                (1, 2, 3, 4, 6),
                (PLOT_FAMILY, name, postscript, full, postscript),
                strict=True,
            ):
                font["name"].setName(text, number, 3, 1, 0x409)
            font.save(PLOT_FONTS / f"{postscript}.ttf")


def main() -> None:
    """Replace the vendored files by freshly fetched ones."""
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not installed: get Node.js, then run this again.")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(PACKAGES, folder, dirs_exist_ok=True)
        # It refuses what has another checksum.
        subprocess.run([npm, "ci", "--ignore-scripts"], cwd=folder, check=True)
        shutil.rmtree(VENDOR, ignore_errors=True)
        for source, target in kept():
            there, here = Path(folder) / "node_modules" / source, VENDOR / target
            here.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(there, here)
        write_maths_font(Path(folder) / "python")
        write_plot_fonts(Path(folder) / "node_modules" / "source-sans")


if __name__ == "__main__":
    main()
