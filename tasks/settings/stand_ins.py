"""Data sets that replace others which are neither on this machine nor downloadable."""

# source -> the folder of Parquet files under the data root that replaces it, and how its images differ
STAND_INS = {"cifar10": ("cifar10-jpeg", "JPEG-recompressed")}
