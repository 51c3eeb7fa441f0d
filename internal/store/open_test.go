package store_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

func TestOneProcessWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hiregate.db")
	db, err := store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.NoError(t, err)
	_, err = store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.ErrorContains(t, err, "in use by process")
	require.NoError(t, db.Close())
	db, err = store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

// Another name of the same file is no way to a second writer.
func TestOneProcessWritesWhateverTheName(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "data", "hiregate.db")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
	link := func(to, name string) string {
		name = filepath.Join(folder, name)
		require.NoError(t, os.Symlink(to, name))
		return name
	}
	early := link(path, "early.db") // before the file is there
	names := []string{early, link(early, "chain.db"), link("data/hiregate.db", "relative.db"), filepath.Join(link("data", "linked"), "hiregate.db"),
		filepath.Join(folder, "data", "..", "data", ".", "hiregate.db")}
	identity, err := store.Identity("sqlite://" + path)
	require.NoError(t, err)
	db, err := store.Open(t.Context(), "sqlite://"+early, store.Options{})
	require.NoError(t, err)
	for _, name := range append(names, path) {
		same, err := store.Identity("sqlite://" + name)
		require.NoError(t, err)
		require.Equal(t, identity, same, name)
		_, err = store.Open(t.Context(), "sqlite://"+name, store.Options{})
		require.ErrorContains(t, err, "in use by process", name)
	}
	hard := filepath.Join(folder, "hard.db")
	require.NoError(t, os.Link(path, hard))
	_, err = store.Open(t.Context(), "sqlite://"+hard, store.Options{})
	require.ErrorContains(t, err, "the database "+hard+" has another name, a hard link")
	require.NoFileExists(t, hard+".lock")
	require.NoError(t, db.Ping(t.Context()), "who had it open goes on")
	require.NoError(t, db.Close())
	require.NoError(t, os.Remove(hard))
	db, err = store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

// Whoever deletes the file of the lock opens the door to nobody.
func TestLockThatIsDeleted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hiregate.db")
	db, err := store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, os.Remove(path+".lock"))
	require.NoError(t, db.Ping(t.Context()))
	_, err = store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.ErrorContains(t, err, "in use by process")

	require.NoError(t, os.Remove(path+".lock"))
	other, err := store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.NoError(t, err, "before the first one looks")
	for range 2 {
		err = db.Ping(t.Context())
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.ErrorContains(t, err, "in use by process", "two write")
	}
	require.NoError(t, other.Ping(t.Context()))
	require.NoError(t, other.Close())
	require.ErrorContains(t, db.Ping(t.Context()), "another process had "+path+" in use meanwhile", "what that one wrote is to be read")
	require.NoError(t, db.Ping(t.Context()))
}

// Links that lead nowhere are told as what they are.
func TestLinksThatLeadNowhere(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "hiregate.db")
	require.NoError(t, os.Symlink(path, path))
	_, err := store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.ErrorContains(t, err, path)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink(filepath.Join(folder, "missing", "hiregate.db"), path))
	_, err = store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.ErrorContains(t, err, "the folder "+filepath.Join(folder, "missing")+" does not exist: make it")
}

// Candidates are in the file, whatever the umask leaves to others.
func TestFilesAreForTheirUserAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hiregate.db")
	db, err := store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.Ping(t.Context()))
	for _, end := range []string{"", "-wal", "-shm", ".lock"} {
		info, err := os.Stat(path + end)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), end)
	}
}

func TestCloseWaitsForHolders(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "hiregate.db"), store.Options{})
	require.NoError(t, err)
	release, ok := db.Acquire()
	require.True(t, ok)
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	require.NoError(t, db.Ping(t.Context()))
	release()
	require.NoError(t, <-closed)
	_, ok = db.Acquire()
	require.False(t, ok)
	require.ErrorIs(t, db.Ping(t.Context()), store.ErrUnavailable)
}

// SQLite would go on writing to a file that nobody finds any more.
func TestFileThatWasMovedTakesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hiregate.db")
	db, err := store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	refused := func() {
		for range 2 { // also by a connection that was opened since
			err := db.Write(t.Context(), func(tx *store.Tx) error {
				return tx.InsertSigninEntry(&identity.Entry{At: noon, Event: "sign-in", Result: "lost"})
			})
			require.ErrorIs(t, err, store.ErrUnavailable)
			require.ErrorContains(t, err, "moved, deleted or replaced")
		}
	}
	require.NoError(t, db.Ping(t.Context()))
	require.NoError(t, os.Rename(path, path+".away"))
	refused()
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	refused()
	require.NoError(t, os.Rename(path+".away", path))
	require.NoError(t, db.Ping(t.Context()))
	log, _, err := db.ListSigninEntries(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Empty(t, log)
}

// A file that is not hiregate's stays as it is.
func TestFilesOfOtherProgramsAreRefused(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string]string{
		"tables":           `CREATE TABLE albums (id INTEGER PRIMARY KEY); INSERT INTO albums VALUES (1)`,
		"one of its names": `CREATE TABLE exports (id INTEGER PRIMARY KEY); CREATE TABLE ships (id INTEGER)`,
		"goose's as well":  `CREATE TABLE goose_db_version (id INTEGER); CREATE TABLE albums (id INTEGER)`,
	} {
		path := filepath.Join(t.TempDir(), "other.db")
		db, err := sql.Open("sqlite", "file:"+path)
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), statements)
		require.NoError(t, err)
		require.NoError(t, db.Close())
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		_, err = store.Open(t.Context(), "sqlite://"+path, store.Options{})
		require.ErrorContains(t, err, "the database "+path+" is another program's: it has tables that hiregate did not make; name a file", name)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, after, name)
	}
}

func TestFilesThatCantBeOpenedAreExplained(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "hiregate.db")
	refused := func(want string) {
		t.Helper()
		_, err := store.Open(t.Context(), "sqlite://"+path, store.Options{})
		require.ErrorContains(t, err, "the database "+path)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, os.WriteFile(path, []byte("no database, but a text that is longer than the header of one would be, which has a hundred bytes"), 0o600))
	refused("name another file, or put a backup in its place")

	require.NoError(t, os.Remove(path))
	db, err := store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	damaged := append([]byte(nil), whole...)
	for n := 200; n < len(damaged); n++ {
		damaged[n] = 0xff
	}
	require.NoError(t, os.WriteFile(path, damaged, 0o600))
	refused("put a backup in its place, or save what can be read")

	require.NoError(t, os.WriteFile(path, whole, 0o600))
	if os.Getuid() != 0 { // who may write everything
		require.NoError(t, os.Chmod(path, 0o400))
		refused("writable for the user of the gateway")
		require.NoError(t, os.Chmod(path, 0o600))
	}
	path = folder
	refused("is a folder: name a file in it")
}
