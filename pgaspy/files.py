def load(file): raise NotImplementedError
def save(file, array): raise NotImplementedError
