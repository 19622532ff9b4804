"""The page is written to a file."""

import matplotlib.pyplot as plt

from spectralmirror.report import write_report
from tests.helpers.report import Page, check_page, sentence


def test_file_is_written_and_no_figure_left_open(shop, tmp_path):
    mixture, X, y, groups, _ = shop
    path = tmp_path / "new" / "page.html"
    data = write_report(mixture, X[:60], y[:60], path, groups=groups[:60])
    page = path.read_text(encoding="utf-8")
    check_page(page)
    assert sentence(data, "finding", "finding") in Page(page).text
    assert [p.name for p in path.parent.iterdir()] == ["page.html"]
    assert not plt.get_fignums()
