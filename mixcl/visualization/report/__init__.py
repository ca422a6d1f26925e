"""Report: one page about one run or several."""

import mixcl.quiet_imports
from mixcl.visualization.report.report_page import write_report
