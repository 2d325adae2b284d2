"""D.propA.1: random ReLU features bring two orthogonal unit vectors closer together, where the text says farther."""

import numpy as np

x, y = np.array([1.0, 0.0]), np.array([0.0, 1.0])
W = np.random.default_rng(0).normal(size=(200, 1000, 2)) * (2 / 1000) ** 0.5  # 200 draws of 1,000 features
features_x, features_y = np.maximum(W @ x, 0), np.maximum(W @ y, 0)
product = np.mean(np.sum(features_x * features_y, 1))
distance = np.mean(np.sum((features_x - features_y) ** 2, 1))
print(f"mean inner product {product:.4f}, closed form 1 / pi = {1 / np.pi:.4f}")
print(f"squared distance {np.sum((x - y) ** 2):.4f} -> {distance:.4f}")
assert abs(product - 1 / np.pi) < 0.01
assert distance < np.sum((x - y) ** 2)
