"""After training, sqrt(FACT FACT^T) correlates more with W_1^T W_1 than sqrt(AGOP) and sqrt(eNFA), at every n.

So does FACT, except at n = 1K, where √AGOP and √eNFA are ahead of it. ReLU networks of depth 3 are trained with mean
squared error on n = 1K or 2K samples of MNIST, at the quick scale on 700 or 1,400 digits of 8 x 8 pixels. The other
columns of Table 2 belong to C.tab2.MNIST and C.tab2.CIFAR10. Each n has its own statements and conditions. That FACT is
behind at n = 1K is an exception to the theorem, so this statement does not need a critical point. The control computes
the matrices with shuffled labels.
"""

from functools import partial

from tasks.papers.fact.claims.shared.correlation_figures import draw_table_2
from tasks.papers.fact.claims.shared.correlation_tables import printed, table_statements
from tasks.papers.fact.claims.shared.correlations import of_parts, shuffled_labels

ID = "C.tab2"
KIND = "statistical"
TITLE = "FACT, AGOP and eNFA in the first layer, with few samples"
TABLE = {  # name -> column -> printed correlation
    "fact": {"1K": 0.890, "2K": 0.988},
    "symmetric fact": {"1K": 0.956, "2K": 0.998},
    "root agop": {"1K": 0.899, "2K": 0.923},
    "root enfa": {"1K": 0.903, "2K": 0.923},
}
PRINTED = printed(TABLE, "n = 1K / 2K")
MATH = (
    (
        r"\rho\left( \sqrt{\text{FACT}\; \text{FACT}^\top},\; W_1^\top W_1 \right) > \rho\left( "
        r"\sqrt{\text{AGOP}},\; W_1^\top W_1 \right),\; \rho\left( \sqrt{\text{eNFA}},\; W_1^\top W_1 "
        r"\right)"
    ),
    r"\text{weight decay } \lambda = 10^{-4}",
)
MATH_CORRECTED = r"\text{the same at weight decay } \lambda = 10^{-3}"
CORRECTS = "a setting"
CORRECTION = (
    "The weight decay is 10⁻³ instead of 10⁻⁴. At the printed decay the 3,200 steps at n = 1K leave 85 % of the "
    "initial weights (e^-0.16) in directions orthogonal to all samples. FACT maps these directions to 0 and WᵀW does "
    "not, so the network is far from the critical point of Theorem 3.1. On digits both decays are scaled so that the "
    "same share of the initial weights is left as on MNIST. There, at both n, FACT is behind √AGOP at the printed "
    "decay and ahead at ten times it. So the corrected decay also reverses the exception that the paper reports at n = "
    "1K: FACT is behind there at the printed decay alone. No decay of ours has FACT ahead at n = 2K and behind at n = "
    "1K. The only criterion of convergence that the paper prints is a batch train loss of at most 10⁻³. This criterion "
    "does not support the correction: the networks with the printed decay meet it at n = 2K (0.00036, the largest loss "
    "of five seeds on the whole training set), and FACT is behind there. Those with ten times the decay miss it "
    "(0.0042). The cause may also lie in a setting that the paper does not print."
)
SMALLER = " at the smaller n"
COLUMNS = {"": ("2K", "1400 digits"), SMALLER: ("1K", "700 digits")}
STATEMENTS = table_statements(TABLE, cases=1, parts=COLUMNS, excepted=SMALLER)
HYPOTHESES = of_parts(STATEMENTS, COLUMNS)
CONTROLS = shuffled_labels("agop", "root agop")

draw = partial(draw_table_2, table=TABLE)
