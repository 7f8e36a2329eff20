"""A custom TensorFlow loop that retraces, checks numerics and prints a nan for a metric without samples."""

import time

import absl.logging
import tensorflow as tf

absl.logging.set_verbosity(absl.logging.DEBUG)
tf.get_logger().setLevel("DEBUG")
tf.debugging.enable_check_numerics()


def main() -> None:
    tf.random.set_seed(0)
    weights = tf.Variable(tf.random.normal([6, 1]))
    optimizer = tf.keras.optimizers.SGD(0.02)

    for step in range(80):
        start = time.time()
        x = tf.random.normal([16 + step % 9, 6])

        @tf.function
        def update(batch: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((batch @ weights - tf.reduce_sum(batch, 1, keepdims=True)) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
            return loss

        loss = update(x)
        if step % 4 == 0:
            absl.logging.info("step = %d, loss = %.6f (%.3f sec), skipped = 0", step, loss, time.time() - start)
    with tf.device("/CPU:0"):
        tf.debugging.disable_check_numerics()
        tf.print("mean error of the empty group:", tf.reduce_mean(tf.zeros([0])))
    tf.train.Checkpoint(weights=weights).write("ckpt/final")
    restored = tf.train.Checkpoint(weights=tf.Variable(tf.zeros([6, 1])), bias=tf.Variable(0.0))
    restored.read("ckpt/final").expect_partial()
    absl.logging.info("Saved checkpoint; training loop is finished")


if __name__ == "__main__":
    main()
