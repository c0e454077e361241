#!/usr/bin/env python3
"""Draws a data folder as a contact sheet: a row a letter, N of its 8 x 8 images, evenly spread over the file.

usage: contact_sheet.py DIR OUT.png [-n N]

Needs numpy and matplotlib. Greys are shown as they are: 0 black, 255 white.
"""
import argparse
import os
import sys

import numpy as np

LETTERS = "ABCDEILMNORSUVW"
SIDE = 8


def read_letter(folder, letter):
    """The letter's images, (n, 8, 8), from X.csv, else x.csv."""
    for name in (f"{letter}.csv", f"{letter.lower()}.csv"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            images = np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8-sig")
            if images.shape[1] != SIDE * SIDE:
                raise ValueError(f"{path}: {images.shape[1]} numbers a line, {SIDE * SIDE} expected")
            return images.reshape(-1, SIDE, SIDE)
    raise FileNotFoundError(f"{folder}: neither {letter}.csv nor {letter.lower()}.csv")


def draw(folder, out, columns):
    import matplotlib

    matplotlib.use("Agg")  # no display needed
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        len(LETTERS), columns, squeeze=False, figsize=(0.5 * columns + 0.4, 0.5 * len(LETTERS)), layout="constrained"
    )
    figure.get_layout_engine().set(w_pad=0.01, h_pad=0.01, wspace=0.02, hspace=0.02)
    for row, letter in zip(axes, LETTERS):
        images = read_letter(folder, letter)
        picks = np.linspace(0, len(images) - 1, columns).round().astype(int)
        for cell, pick in zip(row, picks):
            cell.imshow(images[pick], cmap="gray", vmin=0, vmax=255)
            cell.set(xticks=[], yticks=[], frame_on=False)
        row[0].set_ylabel(letter, rotation=0, ha="right", va="center")
    figure.savefig(out, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", metavar="DIR", help="folder with one CSV file a letter")
    parser.add_argument("out", metavar="OUT.png", help="picture to write")
    parser.add_argument("-n", type=int, default=12, help="images a letter (default 12)")
    arguments = parser.parse_args()
    if arguments.n < 1:
        parser.error(f"-n: {arguments.n} is less than 1")
    try:
        draw(arguments.folder, arguments.out, arguments.n)
    except (OSError, ValueError) as problem:
        sys.exit(f"contact_sheet.py: {problem}")


if __name__ == "__main__":
    main()
