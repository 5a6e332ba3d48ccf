"""Placeholder until the prices are written."""


class Writes:
    @classmethod
    def of(cls, segment):
        return cls()


def price(family, attribute, type_, writes, schema):
    return {"sub": 4, "substring": 4, "approx": 2}.get(type_, 1)
