"""The paper's extended form: the whole fleet in one vector, one tick as eq. (12).

w_{e,n} has 1 + K (l_max + 1) blocks of D: the server's model, then for each age l from 0 to l_max
the K clients' models. A_e and Z_e change the blocks of age 0 from w_{k,n} to w_{k,n+1}; after that,
the blocks of age l hold w_{k,n+1-l}, which is what a message of age l carries. (Before it, those
of ages 0 and 1 are equal: the paper's repeated w_{k,n}.) B_e then applies what arrives and moves
every model one age on.
"""

import numpy as np

from tests.oracle.literal import Nature, Real, Row, downlink, fourier, taking_part, uplink


def blocks(nature: Nature, row: Row) -> int:
    """The number of blocks of w_e."""
    clients: int = nature["has_data"].shape[1]
    return 1 + clients * (row.max_age + 1)


def block(nature: Nature, client: int, age: int) -> int:
    """Where in w_e a client's model of the given age stands; block 0 is the server's."""
    clients: int = nature["has_data"].shape[1]
    return 1 + age * clients + client


def place(matrix: Real, line: int, column: int, value: Real) -> None:
    """Write a D x D block into a matrix of blocks."""
    size = len(value)
    matrix[line * size : (line + 1) * size, column * size : (column + 1) * size] = value


def contacts(nature: Nature, row: Row, tick: int) -> list[int]:
    """The clients with a_{k,n} = 1: in contact at n, whenever their messages arrive."""
    return taking_part(row, nature["available"][tick], nature["lottery"][tick])


def a_matrix(nature: Nature, row: Row, tick: int) -> Real:
    """A_{e,n}: the clients in contact take w_n on M_{k,n}; identity everywhere else."""
    features = len(nature["phases"])
    matrix = np.eye(features * blocks(nature, row))
    for client in contacts(nature, row, tick):
        selection = downlink(row, features, client, tick)
        here = block(nature, client, 0)
        place(matrix, here, 0, selection)
        place(matrix, here, here, np.eye(features) - selection)
    return matrix


def learners(nature: Nature, row: Row, tick: int) -> list[int]:
    """The clients that make an LMS step at this tick."""
    present = contacts(nature, row, tick)
    return [
        client
        for client in range(nature["has_data"].shape[1])
        if nature["has_data"][tick, client] and (row.learns_away or client in present)
    ]


def z_matrix(nature: Nature, row: Row, tick: int) -> Real:
    """Z_{e,n}: z_{k,n} on the block of age 0 of each client that learns, zero columns elsewhere."""
    features = len(nature["phases"])
    matrix = np.zeros((features * blocks(nature, row), blocks(nature, row)))
    for client in learners(nature, row, tick):
        here = block(nature, client, 0)
        z = fourier(nature["x"][tick, client], nature["frequencies"], nature["phases"])
        matrix[here * features : (here + 1) * features, here] = z
    return matrix


def y_vector(nature: Nature, row: Row, tick: int) -> Real:
    """y_{e,n}: the targets of the clients that learn, at the columns Z_{e,n} gives them."""
    vector = np.zeros(blocks(nature, row))
    for client in learners(nature, row, tick):
        vector[block(nature, client, 0)] = nature["y"][tick, client]
    return vector


def selections(nature: Nature, row: Row, tick: int) -> list[list[Real | None]]:
    """By age and client, the adjusted S of what arrives at this tick (None: a_{k,n,l} = 0).

    A message of age l left at n - l, on the uplink window of (k, n - l). Going from the newest
    age to the oldest, a coordinate taken at one age is struck from all later ones.
    """
    clients = nature["has_data"].shape[1]
    features = len(nature["phases"])
    found: list[list[Real | None]] = []
    taken = np.zeros(features, dtype=bool)
    for age in range(row.max_age + 1):
        sent = tick - age
        arrivals: list[Real | None] = [None] * clients
        held = np.zeros(features, dtype=bool)
        for client in contacts(nature, row, sent) if sent >= 0 else []:
            if nature["delay"][sent, client] == age:
                diagonal = np.diag(uplink(row, features, client, sent))
                held |= diagonal > 0
                arrivals[client] = np.diag(np.where(taken, 0.0, diagonal))
        taken |= held
        found.append(arrivals)
    return found


def b_matrix(nature: Nature, row: Row, tick: int) -> Real:
    """B_{e,n}: the server's rule in the first block row, the ageing of models below it."""
    clients = nature["has_data"].shape[1]
    features = len(nature["phases"])
    identity = np.eye(features)
    matrix = np.zeros((features * blocks(nature, row), features * blocks(nature, row)))

    kept = identity.copy()  # B_n
    for age, arrivals in enumerate(selections(nature, row, tick)):
        present = [selection for selection in arrivals if selection is not None]
        for client, selection in enumerate(arrivals):
            if selection is None:
                continue
            weight = row.base**age * selection
            if row.divisor == "class":
                weight = weight / len(present)
            else:
                # A coordinate that none of them holds has weight 0 whatever it is divided by.
                weight = weight / np.maximum(np.diag(np.add.reduce(present)), 1.0)[:, np.newaxis]
            kept = kept - weight
            place(matrix, 0, block(nature, client, age), weight)  # B_{l,n}
    place(matrix, 0, 0, kept)

    for client in range(clients):
        here = block(nature, client, 0)
        place(matrix, here, here, identity)
        for age in range(1, row.max_age + 1):
            place(matrix, block(nature, client, age), block(nature, client, age - 1), identity)
    return matrix


def run(nature: Nature, row: Row) -> Real:
    """The server's models w_0 .. w_N, (N + 1, D), by eq. (12) alone."""
    if row.exchange != "paper":
        raise ValueError("the extended form describes the paper's exchange only")
    features = len(nature["phases"])
    w = np.zeros(features * blocks(nature, row))
    server = [w[:features]]
    for tick in range(len(nature["has_data"])):
        a = a_matrix(nature, row, tick)
        z = z_matrix(nature, row, tick)
        b = b_matrix(nature, row, tick)
        error = y_vector(nature, row, tick) - z.T @ (a @ w)
        w = b @ (a @ w + row.step_size * z @ error)
        server.append(w[:features])
    return np.array(server)
