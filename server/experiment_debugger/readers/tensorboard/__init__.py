"""Event files of TensorBoard: own framing, so that damage costs single records; its protos only for the details."""
