-- Papers, where they came from, their texts cut into sentences and passages, vectors, and what was read from papers.

CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- `fields` is the merged record as JSON; the columns beside it are those that filters ask for.
CREATE TABLE paper (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    key      TEXT NOT NULL UNIQUE,
    imported INTEGER NOT NULL,
    kind     TEXT NOT NULL CHECK (kind IN ('abstract', 'note')),
    date     TEXT NOT NULL,
    status   TEXT NOT NULL DEFAULT 'candidate',
    fields   TEXT NOT NULL
);

-- Every key that ever named a paper, the present one included.
CREATE TABLE alias (key TEXT PRIMARY KEY, paper INTEGER NOT NULL REFERENCES paper ON DELETE CASCADE) WITHOUT ROWID;
CREATE INDEX alias_paper ON alias (paper);

CREATE TABLE tag (paper INTEGER NOT NULL REFERENCES paper ON DELETE CASCADE, tag TEXT NOT NULL, PRIMARY KEY (paper, tag)) WITHOUT ROWID;

-- `digest` is of the record and not of the file's name: the same record again is no new source.
CREATE TABLE source (
    id     INTEGER PRIMARY KEY,
    paper  INTEGER NOT NULL REFERENCES paper ON DELETE CASCADE,
    file   TEXT NOT NULL,
    format TEXT NOT NULL,
    line   INTEGER NOT NULL,
    time   TEXT NOT NULL,
    kind   TEXT NOT NULL,
    reason TEXT NOT NULL,
    record TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE
);
CREATE INDEX source_paper ON source (paper);

-- Records that fit two works which contradict each other: kept as papers of their own, and listed.
CREATE TABLE undecided (source INTEGER NOT NULL REFERENCES source ON DELETE CASCADE, paper INTEGER NOT NULL, reason TEXT NOT NULL);

CREATE TABLE fingerprint (kind TEXT NOT NULL, value TEXT NOT NULL, paper INTEGER NOT NULL REFERENCES paper ON DELETE CASCADE,
    PRIMARY KEY (kind, value, paper)) WITHOUT ROWID;
CREATE INDEX fingerprint_paper ON fingerprint (paper);

-- A text never changes. One text a role and language is shown; others stay for the anchors that point at them.
CREATE TABLE text (
    id         INTEGER PRIMARY KEY,
    paper      INTEGER NOT NULL REFERENCES paper,
    role       TEXT NOT NULL,
    language   TEXT NOT NULL,
    characters TEXT NOT NULL,
    cutter     TEXT NOT NULL,
    shown      INTEGER NOT NULL
);
CREATE INDEX text_paper ON text (paper);

-- Positions count characters (code points) from 0; sentence = characters[start:end].
CREATE TABLE sentence (text INTEGER NOT NULL REFERENCES text ON DELETE CASCADE, number INTEGER NOT NULL,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL, PRIMARY KEY (text, number)) WITHOUT ROWID;

-- `digest` is of what is embedded (title and sentences), and names its vector.
CREATE TABLE passage (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    paper  INTEGER NOT NULL REFERENCES paper ON DELETE CASCADE,
    text   INTEGER NOT NULL REFERENCES text ON DELETE CASCADE,
    first  INTEGER NOT NULL,
    last   INTEGER NOT NULL,
    digest TEXT NOT NULL
);
CREATE INDEX passage_paper ON passage (paper);
CREATE INDEX passage_digest ON passage (digest);

-- 32-bit floats, little-endian, unit length; one embedder's vectors never answer for another's.
CREATE TABLE vector (embedder TEXT NOT NULL, digest TEXT NOT NULL, "values" BLOB NOT NULL, PRIMARY KEY (embedder, digest)) WITHOUT ROWID;

CREATE VIRTUAL TABLE words USING fts5 (title, body, keywords, tokenize = "porter unicode61 remove_diacritics 2");

-- What was read from papers: a table's cells, a tree's placements, a draft's statements, as JSON with anchors.
CREATE TABLE finding (
    task  TEXT NOT NULL,
    name  TEXT NOT NULL,
    item  TEXT NOT NULL,
    paper INTEGER NOT NULL,
    data  TEXT NOT NULL,
    PRIMARY KEY (task, name, item, paper)
) WITHOUT ROWID;
