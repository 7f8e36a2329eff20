"""Keras fit at verbose 1 or 2 with all its callbacks; the data pipeline runs out on purpose."""

import sys

import keras
import numpy as np
import tensorflow as tf


def main() -> None:
    verbose = int(sys.argv[1])
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    x = random.normal(size=(1024, 12)).astype("float32")
    y = (x[:, :4].argmax(1) * (1 if verbose == 1 else 0) + random.integers(0, 2, 1024) * (verbose == 2)).astype("int32")
    model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(48, "relu"), keras.layers.Dense(8)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"], jit_compile=False)
    model.summary()
    data = tf.data.Dataset.from_tensor_slices((x[:768], y[:768])).shuffle(768).batch(32)
    test = tf.data.Dataset.from_tensor_slices((x[768:], y[768:])).batch(32)
    callbacks = [
        keras.callbacks.TerminateOnNaN(),
        keras.callbacks.ReduceLROnPlateau(patience=2, verbose=1),
        keras.callbacks.EarlyStopping(patience=5, verbose=1, restore_best_weights=True),
        keras.callbacks.ModelCheckpoint("best.weights.h5", save_best_only=True, save_weights_only=True, verbose=1),
    ]
    if verbose == 1:
        callbacks.append(keras.callbacks.CSVLogger("logs/history-81.csv"))
    options = {"steps_per_epoch": 20, "epochs": 3} if verbose == 1 else {"epochs": 25}
    model.fit(data, validation_data=test, verbose=verbose, callbacks=callbacks, **options)
    print("test:", model.evaluate(test, verbose=verbose, return_dict=True))


if __name__ == "__main__":
    main()
