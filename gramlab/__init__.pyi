"""Types of the public names, which gramlab/__init__.py loads on first use."""

from gramlab import theory as theory
from gramlab.accumulated_fact import AccumulatedFact as AccumulatedFact
from gramlab.kernels.deep import DeepRFM as DeepRFM
from gramlab.kernels.rfm import RFM as RFM
from gramlab.measures.collapse import RunningCollapse as RunningCollapse
from gramlab.measures.collapse import neural_collapse as neural_collapse
from gramlab.measures.denoising import denoising as denoising
from gramlab.measures.features import features as features
from gramlab.measures.independence import batch_independence as batch_independence
from gramlab.measures.linearity import k_norm as k_norm
from gramlab.measures.linearity import surrogate as surrogate
from gramlab.measures.linearity import target_linearity as target_linearity
from gramlab.measures.measure import measure as measure
from gramlab.measures.measurement import Measurement as Measurement
from gramlab.measures.parts import merge as merge
from gramlab.measures.plan import plan as plan
from gramlab.measures.powers import psd_power as psd_power
from gramlab.measures.similarity import cosine as cosine
from gramlab.measures.similarity import cosine_null as cosine_null
from gramlab.measures.similarity import pearson as pearson
from gramlab.measures.similarity import random_eigenvectors as random_eigenvectors
from gramlab.measures.undefined import Undefined as Undefined
from gramlab.nets.whitened import WhitenedSGD as WhitenedSGD
from gramlab.record import Recorder as Recorder

__version__: str
_HOME: dict[str, str]
