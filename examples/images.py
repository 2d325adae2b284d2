"""Train a CNN on your own folder of images, and see what its layers have learned.

    python examples/images.py FOLDER          # FOLDER/train/CLASS/*.png, FOLDER/test/CLASS/*.png
    python examples/images.py                 # makes such a folder from scikit-learn's digits, in ./build/images

All images have one size, 8 bits a channel, and any format that Pillow reads. test/ may be missing.
"""

import sys
from pathlib import Path

import torch
from PIL import Image
from sklearn.datasets import load_digits
from torch.nn import functional as F

import gramlab
from gramlab.data import prepare
from gramlab.nets import build

DECAY = 5e-3


def make_folder(folder: Path) -> None:
    """Write the digits 0, 1 and 2 as images of 16 x 16 pixels, a folder a class."""
    images, labels = load_digits(n_class=3, return_X_y=True)
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        path = folder / ("test" if number % 5 == 0 else "train") / f"digit {label}" / f"{number:03}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((image.reshape(8, 8) * 15.9).astype("uint8")).resize((16, 16)).save(path)


def main(folder: Path, epochs: int = 8) -> None:
    """Train, and print the accuracy and the table of the layers."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data = prepare("folder", folder.parent, path=folder.name)
    x, y = data.scaled(data.x_train, torch.float32), data.y_train
    model = build("cnn", x.shape[1:], data.outputs, channels=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, weight_decay=DECAY)
    for epoch in range(epochs):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}")
    if len(data.x_test):
        with torch.no_grad():
            right = model(data.scaled(data.x_test, torch.float32)).argmax(1) == data.y_test
        print(f"test accuracy {right.float().mean():.2f}")

    # a row of a convolution is an image patch: its Gram matrix says which pixels and channels of a patch matter
    m = gramlab.measure(model, x, y, loss="cross_entropy", weight_decay=DECAY)
    columns = ["kind", "shape", "cosine_agop", "null_agop", "cosine_fact", "stationarity", "effective_rank"]
    print(m.summary()[columns].round(2).to_string())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        make_folder(Path("build/images"))
        main(Path("build/images"))
