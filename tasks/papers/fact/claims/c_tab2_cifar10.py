"""On CIFAR-10 FACT and sqrt(FACT FACT^T) correlate more with W_1^T W_1 than sqrt(AGOP) and sqrt(eNFA).

These are the columns of Table 2 for CIFAR-10, with weight decay 10^-3 and 10^-4. Otherwise the networks are those of
C.tab2. The only criterion of convergence that the paper prints is a batch train loss of at most 10^-3. At the papers'
scale no network of ours meets it: the loss on the whole training set is 0.062 with decay 10^-3 and 0.016 with 10^-4. At
the quick scale the images are digits of 8 x 8 pixels, with two other decays. The control computes the matrices with
shuffled labels.
"""

from functools import partial

from tasks.papers.fact.claims.shared.correlation_figures import draw_table_2
from tasks.papers.fact.claims.shared.correlation_tables import FACT_AHEAD_OF_ROOTS, printed, table_statements
from tasks.papers.fact.claims.shared.correlations import of_parts, shuffled_labels

ID = "C.tab2.CIFAR10"
KIND = "statistical"
TITLE = "FACT, AGOP and eNFA in the first layer, at two weight decays"
TABLE = {  # name -> column -> printed correlation
    "fact": {"decay-1e-3": 0.830, "decay-1e-4": 0.896},
    "symmetric fact": {"decay-1e-3": 0.929, "decay-1e-4": 0.943},
    "root agop": {"decay-1e-3": 0.793, "decay-1e-4": 0.722},
    "root enfa": {"decay-1e-3": 0.797, "decay-1e-4": 0.714},
}
PRINTED = printed(TABLE, "weight decay 10⁻³ / 10⁻⁴")
MATH = FACT_AHEAD_OF_ROOTS
STATEMENTS = table_statements(TABLE, cases=2)
HYPOTHESES = of_parts(STATEMENTS)
CONTROLS = shuffled_labels("agop", "root agop")

draw = partial(draw_table_2, table=TABLE)
