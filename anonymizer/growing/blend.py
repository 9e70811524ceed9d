"""One tree for two ends: keep the target predictable, and keep the quasi-identifiers themselves close together.

A blended tree predicts the target *and* the columns it splits on, so its groups are alike in both. The weight slides
between a tree that only serves the analysis (1) and boxes that are as tight as they can be (0).
"""

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import ParameterError
from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.growing.target import ClassTarget


def blend_responses(encoded: EncodedTable, weight: float) -> NDArray[np.float64]:
    """Return the responses of a blended tree, (n, r), each centred and times the root of its weight, so that squared
    errors add.

    With ``weight`` w: the class indicators of the target, or the scaled numeric sensitive columns when they guide. With
    1 − w: every quasi-identifier, numeric ones scaled to their domain, categorical ones as indicators of their levels
    divided by √2, so that two different levels are as far apart as the two ends of a range. A missing number lies at
    the column's mean and is told apart by an indicator of its own.

    Raises :class:`ParameterError` unless the weight is from 0 to 1.
    """
    if not 0.0 <= weight <= 1.0:
        raise ParameterError(f"The weight of a blend must be from 0 to 1, not {weight}.", value=weight)
    blocks: list[NDArray[np.float64]] = []
    if weight > 0.0:
        if encoded.by_numbers and encoded.numeric is not None:
            target = np.array(encoded.numeric.values)
        else:
            target = class_indicators(encoded.target)
        blocks.append(np.sqrt(weight) * target)
    if weight < 1.0:
        for position, encoding in enumerate(encoded.encodings):
            blocks.append(np.sqrt(1.0 - weight) * column_responses(encoded.codes.columns[position], encoding))
    responses = np.concatenate(blocks, axis=1) if blocks else np.zeros((encoded.n_records, 0))
    if not responses.shape[1]:
        return np.zeros((encoded.n_records, 1))
    responses -= responses.mean(axis=0)
    return responses


def indicators(codes: NDArray[np.unsignedinteger], count: int, height: float) -> NDArray[np.float64]:
    """Return (n, count): ``height`` where a record has the code, 0 elsewhere."""
    heights = np.zeros((len(codes), count))
    heights[np.arange(len(codes)), codes] = height
    return heights


def class_indicators(target: ClassTarget) -> NDArray[np.float64]:
    """Return one indicator a class, (n, c); of two classes one is enough, times √2."""
    if target.n_classes == 2:
        return np.asarray(np.sqrt(2.0) * (target.codes == 1)[:, None])
    return indicators(target.codes, target.n_classes, 1.0)


def column_responses(codes: NDArray[np.unsignedinteger], encoding: Encoding) -> NDArray[np.float64]:
    """Return what one quasi-identifier adds to the responses, (n, its number of them)."""
    missing = codes == len(encoding.labels)
    if not encoding.is_interval:
        if encoding.n_codes == 2:
            return np.asarray((codes == 1).astype(np.float64)[:, None])
        return indicators(codes, encoding.n_codes, 1.0 / np.sqrt(2.0))
    width = encoding.domain[1] - encoding.domain[0]
    if width <= 0 or missing.all():
        return np.asarray(missing.astype(np.float64)[:, None][:, : int(encoding.missing)])
    middle = (encoding.low + encoding.high) / 2
    values = (np.append(middle, np.nan)[codes] - encoding.domain[0]) / width
    if not encoding.missing:
        return np.asarray(values)[:, None]
    return np.column_stack([np.where(missing, values[~missing].mean(), values), missing])
