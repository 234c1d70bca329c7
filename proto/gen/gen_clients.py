def files(ops):
    return ()
