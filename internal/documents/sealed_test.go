package documents

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/vault"
)

// sealing has a document store sealed from now on, with keys of a database of its own.
func sealing(t *testing.T, f *Files) *Files {
	t.Helper()
	v, err := vault.New("a text of more than thirty-two characters")
	require.NoError(t, err)
	shared := new(vault.Shared)
	shared.Add(v)
	db, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{Vaults: shared})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	f.Keys = db
	require.NotContains(t, f.NewName(), sealedSuffix)
	_, err = db.RenewDataKey(t.Context(), time.Now())
	require.NoError(t, err)
	return f
}

func onDisk(t *testing.T, f *Files, name string) (path string, raw []byte) {
	t.Helper()
	path, err := f.medium.(folder).path(name), error(nil)
	require.NoError(t, err)
	raw, err = os.ReadFile(path)
	require.NoError(t, err)
	return path, raw
}

const secretLine = "Ada Lovelace, 12 St James's Square\n"

// secretText is a text of some length.
func secretText(size int) string { return strings.Repeat(secretLine, size/len(secretLine)+1)[:size] }

func TestSealedFilesAreRead(t *testing.T) {
	t.Parallel()
	f := sealing(t, newFiles(t))
	for _, size := range []int{0, 1, 100, pieceSize - 1, pieceSize, pieceSize + 1, 200_000} {
		content := secretText(size)
		blob, err := f.PutNew(t.Context(), strings.NewReader(content), MaxSize)
		require.NoError(t, err)
		require.EqualValues(t, size, blob.Size)
		require.Equal(t, sha256.Sum256([]byte(content)), blob.SHA256)
		require.Equal(t, detect([]byte(content)), blob.Detected)
		_, raw := onDisk(t, f, blob.Name)
		require.NotContains(t, string(raw), "Lovelace")
		require.Equal(t, content, read(t, f, blob.Name))

		r, _, err := f.Open(blob.Name)
		require.NoError(t, err)
		part := make([]byte, min(size, 10))
		_, err = r.ReadAt(part, int64(size-len(part)))
		if err != io.EOF {
			require.NoError(t, err)
		}
		require.Equal(t, content[size-len(part):], string(part))
		_, err = r.ReadAt(part[:min(1, len(part))], int64(size)+5)
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, r.Close())
	}
	require.Len(t, names(t, f), 7)
	require.NoError(t, f.Discard(names(t, f)[0]))
	require.Len(t, stored(t, f), 6)
}

func TestSealedLeftoversAreRemoved(t *testing.T) {
	t.Parallel()
	f := sealing(t, newFiles(t))
	crashed, err := temporaryOf(f)
	require.NoError(t, err)
	require.NoError(t, crashed.fill(t.Context(), strings.NewReader("half"), 100))
	long := time.Now().Add(-leftover - time.Minute)
	require.NoError(t, os.Chtimes(crashed.file.(*folderDraft).Name(), long, long))
	require.NoError(t, f.Prepare())
	require.Empty(t, stored(t, f))
}

// What was cut short, changed, or put under another name is an error, never another document.
func TestSealedFileThatWasChangedIsAnError(t *testing.T) {
	t.Parallel()
	f := sealing(t, newFiles(t))
	const size = 2*pieceSize + 1000
	content := secretText(size)
	blob, err := f.PutNew(t.Context(), strings.NewReader(content), MaxSize)
	require.NoError(t, err)
	path, whole := onDisk(t, f, blob.Name)
	all := func() error {
		r, said, err := f.Open(blob.Name)
		if err != nil {
			return err
		}
		defer r.Close()
		require.EqualValues(t, size, said)
		_, err = io.Copy(io.Discard, r)
		return err
	}
	require.NoError(t, all())
	for _, length := range []int{0, 1, 100, 300, pieceSize, pieceSize + 300, 2 * pieceSize,
		len(whole) - pieceSize - 1000 - 32, len(whole) - 1016, len(whole) - 17, len(whole) - 1} {
		require.NoError(t, os.WriteFile(path, whole[:length], 0o600))
		require.Error(t, all(), "it was cut to %d of %d bytes", length, len(whole))
	}
	for n := range 60 {
		at := rand.IntN(len(whole))
		if n == 0 {
			at = len(whole) - 1
		}
		changed := bytes.Clone(whole)
		changed[at] ^= 1
		require.NoError(t, os.WriteFile(path, changed, 0o600))
		require.ErrorIs(t, all(), store.ErrUnreadable, "byte %d was changed", at)
	}
	require.NoError(t, os.WriteFile(path, append(bytes.Clone(whole), whole...), 0o600))
	require.Error(t, all())
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	require.NoError(t, all())

	other, err := f.PutNew(t.Context(), strings.NewReader("another's"), MaxSize)
	require.NoError(t, err)
	otherPath, _ := onDisk(t, f, other.Name)
	require.NoError(t, os.Rename(otherPath, path))
	require.Error(t, all())
}

// Whether a file is sealed tells its name alone: it may be one of age itself.
func TestFilesFromBeforeStayAsTheyAre(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	kept := map[string]string{}
	put := func(content string) {
		blob, err := f.PutNew(t.Context(), strings.NewReader(content), MaxSize)
		require.NoError(t, err)
		kept[blob.Name] = content
	}
	const ofAge = "age-encryption.org/v1\n-> hiregate\n"
	put("from before")
	put(ofAge)
	noted := f.NewName()
	sealing(t, f)
	put(ofAge)
	_, err := f.Put(t.Context(), noted, strings.NewReader("noted before"), MaxSize)
	require.NoError(t, err)
	kept[noted] = "noted before"
	for name, content := range kept {
		require.Equal(t, content, read(t, f, name))
	}
	f.Keys = nil
	for name := range kept {
		if isSealed(name) {
			_, _, err = f.Open(name)
			require.ErrorIs(t, err, errNoKeys)
		}
	}
}

// A document may come as the file, or in a Document object.
func TestNothingOpenLiesOnTheDiskMeanwhile(t *testing.T) {
	t.Parallel()
	f := sealing(t, newFiles(t))
	looked := 0
	look := func() {
		for _, path := range stored(t, f) {
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotContains(t, string(raw), "Lovelace")
			looked += len(raw)
		}
	}
	content := strings.Repeat(secretText(3*pieceSize), 5) // no padding in its base64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := content
		if r.URL.Path == "/object" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"fileName":"Lovelace.txt","content":"`)
			defer fmt.Fprint(w, `"}`)
			sent = base64.StdEncoding.EncodeToString([]byte(content))
		}
		for n := range 5 {
			fmt.Fprint(w, sent[n*len(sent)/5:(n+1)*len(sent)/5])
			w.(http.Flusher).Flush()
			if n > 1 {
				before := looked
				require.Eventually(t, func() bool { look(); return looked > before }, 10*time.Second, time.Millisecond)
			}
		}
	}))
	defer server.Close()
	for _, path := range []string{"/file", "/object"} {
		fetched, err := Fetch(t.Context(), server.Client(), server.URL+path, f, f.NewName())
		require.NoError(t, err)
		require.Equal(t, content, read(t, f, fetched.Name))
	}
	look()
	require.Len(t, stored(t, f), 2)
}

func TestScratchIsHidden(t *testing.T) {
	t.Parallel()
	for _, f := range []*Files{newFiles(t), sealing(t, newFiles(t))} {
		s, err := f.Scratch()
		require.NoError(t, err)
		content := []byte(secretText(10_000))
		for at := 0; at < len(content); {
			n := min(1+rand.IntN(100), len(content)-at)
			_, err := s.WriteAt(content[at:at+n], int64(at))
			require.NoError(t, err)
			at += n
		}
		require.Equal(t, secretText(10_000), string(content), "it wrote into what it was given")
		raw, err := io.ReadAll(io.NewSectionReader(s.file, 0, 10_000))
		require.NoError(t, err)
		require.Equal(t, f.Keys == nil, bytes.Contains(raw, []byte("Lovelace")))
		for range 20 {
			from := rand.IntN(len(content))
			got, err := io.ReadAll(io.NewSectionReader(s, int64(from), int64(len(content)-from)))
			require.NoError(t, err)
			require.Equal(t, string(content[from:]), string(got))
		}
		require.NoError(t, s.Close())
	}
}
