// The part of chains_target.js that is an ES module.
class Imported {
    static of(leaf) {
        return leaf();
    }
}

export function exported(leaf) {
    return Imported.of(leaf);
}

export default leaf =>
    exported(leaf);
