"""In Deep RFM with ReLU features M^{1/2} alone makes NC1 fall from layer to layer, and the AGOP makes NC2 fall too.

NC1 = tr Sigma_W / tr Sigma_B is the variance within classes over that between them. NC1 must fall with depth: in the
last layer it must be below a tenth of its value in the first layer. This limit is ours. M is the layer's AGOP. We take
the relative change of NC1 at each step of a layer, in the mean over layers. NC1 must fall at sqrt(M) = M^{1/2} and rise
at the random feature map Phi. NC2 is the distance of the class means from a simplex ETF. In the last layer it must be
lower than with M = I. At the quick scale the data are digits of 8 x 8 pixels. The regression has no ridge, as printed,
unless the kernel matrix is singular in float64: then the ridge is 1.5e-8 of the matrix's mean diagonal. The controls
have M = I, an M with random eigenvectors, features without their nonlinearity, or a fit to shuffled labels. The paper
says that NC1 improves exponentially in every layer, up to an error. We test that NC1 after sqrt(M) falls from every
layer to the next, in the mean over seeds of its relative change. We also test that an exponential fall to a floor fits
its curve better than a straight line to a floor, a power law with a floor, and a single drop (D.fig4 defines the laws).
"""

from tasks.papers.neural_collapse.claims.shared import layer_collapse
from tasks.papers.neural_collapse.claims.shared.deep_rfm import EQUAL_SEEDS as EQUAL_SEEDS
from tasks.papers.neural_collapse.claims.shared.deep_rfm import interpolation
from tasks.papers.neural_collapse.claims.shared.layer_collapse import draw as draw
from tasks.papers.neural_collapse.claims.shared.layer_collapse import statements

ID = "D.fig3"
KIND = "statistical"
TITLE = "Deep RFM with ReLU features collapses due to the AGOP alone"
PRINTED = "NC1 and NC2 fall over 18 layers; √M lowers NC1, the feature map raises it, Figure 3"
MATH = layer_collapse.MATH
FEATURES = "relu"
STATEMENTS = statements(FEATURES, figure=3)
HYPOTHESES = (interpolation(FEATURES),)
CONTROLS = layer_collapse.CONTROLS
