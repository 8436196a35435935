-- Papers, where they came from, their texts, passages and vectors, what was decided, and what was read from papers.

CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- One row for each time a file was added. `digest` is of its bytes and of how it was read, so the same file again is known
-- without being read; `report` is what was said of it then, as JSON.
CREATE TABLE import (
    id     INTEGER PRIMARY KEY,
    file   TEXT NOT NULL,
    format TEXT NOT NULL,
    time   TEXT NOT NULL,
    kind   TEXT NOT NULL CHECK (kind IN ('abstract', 'note')),
    digest TEXT NOT NULL,
    report TEXT NOT NULL
);
CREATE INDEX import_digest ON import (digest);

-- `fields` is the merged record without its texts, as JSON; empty where it is that of the paper's only source.
-- `chosen` says who chose the key: 0 we made it up, 1 it was imported, 2 a person.
CREATE TABLE paper (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key    TEXT NOT NULL UNIQUE,
    chosen INTEGER NOT NULL,
    kind   TEXT NOT NULL,
    date   TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'candidate',
    fields TEXT NOT NULL
);

-- Every key that ever named a paper, the present one included.
CREATE TABLE alias (key TEXT PRIMARY KEY, paper INTEGER NOT NULL REFERENCES paper ON DELETE CASCADE) WITHOUT ROWID;
CREATE INDEX alias_paper ON alias (paper);

-- Subject codes of papers, for filters.
CREATE TABLE category (code TEXT NOT NULL, paper INTEGER NOT NULL REFERENCES paper ON DELETE CASCADE, PRIMARY KEY (code, paper)) WITHOUT ROWID;
CREATE INDEX category_paper ON category (paper);

-- What a person's decisions come to, as filters need it.
CREATE TABLE tag (paper INTEGER NOT NULL REFERENCES paper ON DELETE CASCADE, tag TEXT NOT NULL, PRIMARY KEY (paper, tag)) WITHOUT ROWID;

-- One record of one import. `digest` is of the record and not of the file's name: the same record again is no new source.
-- `fields` is the record without its texts, as JSON; `raw` is the record as it stood in the file, deflated.
CREATE TABLE source (
    id     INTEGER PRIMARY KEY,
    paper  INTEGER NOT NULL REFERENCES paper,
    import INTEGER NOT NULL REFERENCES import,
    line   INTEGER NOT NULL,
    reason TEXT NOT NULL,
    fields TEXT NOT NULL,
    raw    BLOB NOT NULL,
    digest BLOB NOT NULL
);
CREATE UNIQUE INDEX source_digest ON source (digest);
CREATE INDEX source_paper ON source (paper);

-- Records that fit two works which contradict each other: kept as papers of their own, and listed.
CREATE TABLE undecided (source INTEGER NOT NULL REFERENCES source, other INTEGER NOT NULL REFERENCES source, reason TEXT NOT NULL,
    PRIMARY KEY (source, other)) WITHOUT ROWID;

-- What a source can be found by when another of the same work comes.
CREATE TABLE fingerprint (mark INTEGER NOT NULL, source INTEGER NOT NULL, PRIMARY KEY (mark, source)) WITHOUT ROWID;

-- A text never changes and stays with its source, to whichever paper that belongs. One text a role is shown. `given` is 1
-- where the source gave it, 0 where a person wrote it in its place.
CREATE TABLE text (
    id         INTEGER PRIMARY KEY,
    source     INTEGER NOT NULL REFERENCES source,
    role       TEXT NOT NULL,
    language   TEXT NOT NULL,
    characters TEXT NOT NULL,
    given      INTEGER NOT NULL,
    shown      INTEGER NOT NULL
);
CREATE INDEX text_source ON text (source);

-- `digest` is of what is embedded (title and sentences).
CREATE TABLE passage (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    paper  INTEGER NOT NULL REFERENCES paper ON DELETE CASCADE,
    text   INTEGER NOT NULL REFERENCES text,
    first  INTEGER NOT NULL,
    last   INTEGER NOT NULL,
    digest BLOB NOT NULL
);
CREATE INDEX passage_paper ON passage (paper);

-- 16-bit floats, little-endian, unit length; all are of one embedder, whose fingerprint stands in meta.
CREATE TABLE vector (passage INTEGER PRIMARY KEY REFERENCES passage ON DELETE CASCADE, "values" BLOB NOT NULL);

-- The words of each paper, without the texts themselves; a row is taken out by giving the same words once more.
CREATE VIRTUAL TABLE words USING fts5 (title, body, keywords, content = '', tokenize = "porter unicode61 remove_diacritics 2");

-- What a person decided, in order; what was taken back is `undone` and counts no more. One command is one `step`. A decision
-- is about a source (the eldest of the paper it was said of, 0 for none), so it follows that source to whichever paper.
CREATE TABLE decision (
    id     INTEGER PRIMARY KEY,
    step   INTEGER NOT NULL,
    time   TEXT NOT NULL,
    kind   TEXT NOT NULL,
    source INTEGER NOT NULL,
    data   TEXT NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX decision_source ON decision (source);

-- What was asked of a service and what came of it, as a review protocol reports it.
CREATE TABLE lookup (
    id      INTEGER PRIMARY KEY,
    time    TEXT NOT NULL,
    service TEXT NOT NULL,
    query   TEXT NOT NULL,
    found   INTEGER,
    shown   INTEGER NOT NULL,
    taken   INTEGER NOT NULL
);

-- What was read from papers: a table's cells, a tree's placements, a draft's statements, as JSON with anchors.
CREATE TABLE finding (
    task  TEXT NOT NULL,
    name  TEXT NOT NULL,
    item  TEXT NOT NULL,
    paper INTEGER NOT NULL,
    data  TEXT NOT NULL,
    PRIMARY KEY (task, name, item, paper)
) WITHOUT ROWID;
