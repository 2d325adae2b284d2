import torch

torch.set_num_threads(1)  # the matrices are small: threads only get in each other's way
