package documents_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// attachments are those of a body that went out.
func attachments(t *testing.T, body []byte) (all []struct {
	URL      string
	Document *struct {
		Content            []byte
		MimeType, FileName string
	}
}) {
	t.Helper()
	var parsed struct {
		Candidate struct {
			Profiles []struct{ Attachments json.RawMessage }
		}
	}
	require.NoError(t, json.Unmarshal(body, &parsed))
	require.NoError(t, json.Unmarshal(parsed.Candidate.Profiles[0].Attachments, &all))
	return all
}

func (b *fixture) outgoing(e *model.Export, mode model.DocumentMode) []byte {
	b.t.Helper()
	own := *e
	body, err := b.OutgoingBody(b.t.Context(), &own, mode)
	require.NoError(b.t, err)
	return body
}

// sized puts an export through the door whose documents are here, of these sizes.
func (b *fixture) sized(sizes ...int64) (*model.Export, [][]byte) {
	b.t.Helper()
	e := b.accept(strings.Split(strings.Repeat("x ", len(sizes)-1)+"x", " ")...)
	b.fetch(e)
	var contents [][]byte
	docs, err := b.Store.ListDocuments(b.t.Context(), e.ID)
	require.NoError(b.t, err)
	for n, size := range sizes {
		contents = append(contents, bytes.Repeat([]byte{byte('a' + n)}, int(size)))
		blob, err := b.Files.PutNew(b.t.Context(), bytes.NewReader(contents[n]), documents.MaxSize)
		require.NoError(b.t, err)
		docs[n].Blob, docs[n].SHA256, docs[n].Size = blob.Name, blob.SHA256[:], blob.Size
	}
	// Fetched once, and never changed: a new export takes them over.
	again := inbox.NewExport("acme", "", e.Body, b.clock())
	again.Attachments = len(sizes)
	require.NoError(b.t, b.Store.Write(b.t.Context(), func(tx *store.Tx) error {
		again.Key, again.Keyed = fmt.Sprint("sized-", again.ID), true
		if _, err := inbox.Insert(tx, again); err != nil {
			return err
		}
		for n := range docs {
			if err := tx.InsertDocument(model.Document{ExportID: again.ID, Tenant: "acme", Position: n, SourceURL: []byte("-"),
				CreatedAt: noon}); err != nil {
				return err
			}
		}
		return nil
	}))
	fresh, err := b.Store.ListDocuments(b.t.Context(), again.ID)
	require.NoError(b.t, err)
	require.NoError(b.t, b.Store.Write(b.t.Context(), func(tx *store.Tx) error {
		for n, d := range fresh {
			d.State, d.Blob, d.SHA256, d.Size, d.Declared, d.FileName, d.FetchedAt = model.Fetched, docs[n].Blob, docs[n].SHA256,
				docs[n].Size, "text/plain", fmt.Sprint(n, ".txt"), noon
			if _, err := tx.UpdateDocument(d); err != nil {
				return err
			}
		}
		return nil
	}))
	return again, contents
}

// Behind each address stands the document; without them, and with the service's addresses, the body is what came, to
// the byte.
func TestInlineChangesNothingElse(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.status.Store("two", 404)
	e := b.accept("one", "two", "three")
	for range 3 {
		b.fetch(e)
		b.advance(3 * time.Second)
	}
	original := string(e.Body)
	body := b.outgoing(e, model.Inline)
	all := attachments(t, body)
	require.Len(t, all, 3)
	require.Nil(t, all[1].Document, "a document that could not be had is there")
	back := string(body)
	for n, name := range []string{"one", "two", "three"} {
		require.True(t, strings.HasPrefix(all[n].URL, "https://gate.example/documents/"), all[n].URL)
		member := fmt.Sprintf(`,"document":{"content":"aGVsbG8=","mimeType":"text/plain","fileName":"%s.txt"}`, name)
		if all[n].Document != nil {
			require.Contains(t, back, `"`+all[n].URL+`"`+member, "it does not stand right behind its url")
			require.Equal(t, "hello", string(all[n].Document.Content))
		}
		back = strings.Replace(strings.Replace(back, member, "", 1), all[n].URL, b.service.URL+"/"+name, 1)
	}
	require.Equal(t, original, back)
	require.NotEqual(t, body, b.outgoing(e, model.Rehost), "the modes share a body")
	require.Equal(t, original, string(b.outgoing(e, model.Passthrough)))
}

// A file that was damaged on the disk does not go out within a body.
func TestDamagedFileIsNotPutIntoABody(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e, contents := b.sized(100, 1<<20)
	docs, err := b.Store.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	contents[1][1<<19] ^= 1
	require.NoError(t, os.WriteFile(filepath.Join(b.folder, docs[1].Blob[:2], docs[1].Blob), contents[1], 0o600))
	own := *e
	_, err = b.OutgoingBody(t.Context(), &own, model.Inline)
	require.ErrorIs(t, err, store.ErrUnreadable)
}

// What an attempt will take is known before it reads anything, in every mode, and however often it is asked.
func TestSizeIsKnownBeforeTheBodyIsMade(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	large, _ := b.sized(3<<20, 1<<20, 8<<20)
	for _, e := range []*model.Export{large, b.accept("one", "two"), b.accept()} {
		for _, mode := range []model.DocumentMode{model.Passthrough, model.Rehost, model.Inline} {
			own := *e
			own.Body = nil
			size, err := b.OutgoingSize(t.Context(), &own, mode)
			require.NoError(t, err)
			require.Nil(t, own.Body, mode)
			body := b.outgoing(e, mode)
			takes := len(e.Body) + len(body)
			if bytes.Equal(body, e.Body) {
				takes = len(body)
			}
			require.GreaterOrEqual(t, size, int64(takes), mode)
			require.LessOrEqual(t, size, int64(takes)*12/10+8<<20, mode) // the third document finds no room
		}
	}
}

// In the order of the attachments each goes in that fits into what is left of 10 MiB, to the byte.
func TestInlineTakesTenMebibytes(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const mega = 1 << 20
	e, contents := b.sized(7*mega, 3*mega+1, 2*mega, mega, 0, 1)
	body := b.outgoing(e, model.Inline)
	all := attachments(t, body)
	for n, there := range []bool{true, false, true, true, true, false} {
		require.Equal(t, there, all[n].Document != nil, n)
		if there {
			require.True(t, bytes.Equal(contents[n], all[n].Document.Content), n)
			require.Equal(t, fmt.Sprint(n, ".txt"), all[n].Document.FileName)
		}
	}
	require.LessOrEqual(t, cap(body)-len(body), 4096, "there is much more memory than the body needs")
}

func TestInlineBodyIsMadeOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := b.accept("one")
	b.fetch(e)
	made := make([][]byte, 8)
	var group sync.WaitGroup
	for n := range made {
		group.Go(func() { made[n] = b.outgoing(e, model.Inline) })
	}
	group.Wait()
	for _, body := range made {
		require.Equal(t, string(made[0]), string(body), "two attempts would send different bytes")
	}
	docs, err := b.Store.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	require.NoError(t, b.Files.Discard(docs[0].Blob))
	require.Equal(t, string(made[0]), string(b.outgoing(e, model.Inline)), "it was made anew")
}

func TestInlineGoesWithoutWhatIsGone(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := b.accept("one", "two")
	b.fetch(e)
	docs, err := b.Store.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	require.NoError(t, b.Files.Discard(docs[0].Blob))
	all := attachments(t, b.outgoing(e, model.Inline))
	require.Nil(t, all[0].Document)
	require.NotNil(t, all[1].Document)
}

// An attachment with a document of its own would have two members of one name.
func TestInlineLeavesADocumentThatIsThere(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := inbox.NewExport("acme", "u-1", fmt.Appendf(nil,
		`{"candidate":{"profiles":[{"attachments":[{"url":%q,"document":null}]}]}}`, b.service.URL+"/one"), b.clock())
	e.Attachments = 1
	_, err := inbox.Accept(t.Context(), b.Store, e)
	require.NoError(t, err)
	b.fetch(e)
	require.Equal(t, 1, strings.Count(string(b.outgoing(e, model.Inline)), `"document":`))
}

// One in quarantine may have more attachments than are taken: the others keep the URLs that they came with.
func TestAttachmentsBeyondThoseTakenKeepTheirURLs(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	attachment := fmt.Sprintf(`{"url":%q}`, b.service.URL+"/one")
	body := fmt.Appendf(nil, `{"candidate":{"profiles":[{"attachments":[%[1]s,%[1]s]},{"attachments":[%[1]s]}]}}`,
		attachment)
	e := inbox.NewExport("acme", "u-1", body, b.clock())
	e.Attachments = 2
	_, err := inbox.Accept(t.Context(), b.Store, e)
	require.NoError(t, err)
	require.Equal(t, 2, b.fetch(e).Fetched)
	for _, mode := range []model.DocumentMode{model.Rehost, model.Inline} {
		require.Equal(t, 1, strings.Count(string(b.outgoing(e, mode)), attachment), mode)
	}
}

// The URLs in a body that was triggered here are ours already, and end when they end.
func TestTriggeredBodyKeepsItsURLs(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e, _ := b.sized(5)
	e.Origin = model.Triggered
	require.Equal(t, string(e.Body), string(b.outgoing(e, model.Rehost)))
	all := attachments(t, b.outgoing(e, model.Inline))
	require.Equal(t, b.service.URL+"/x", all[0].URL)
	require.Equal(t, "aaaaa", string(all[0].Document.Content))
}

// A body that is made for a redelivery only has addresses that can still be used.
func TestLinksLastAsLongAsTheDeliveries(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := b.accept("one")
	b.fetch(e)
	e.DeliverTill = noon.Add(model.LinkWindow + model.DeliveryWindow) // redelivered when the first ones would have ended
	token := strings.TrimPrefix(attachments(t, b.outgoing(e, model.Rehost))[0].URL, "https://gate.example/documents/")
	hash, ok := documents.HashToken(token)
	require.True(t, ok)
	_, till, err := b.Store.DocumentByLink(t.Context(), hash)
	require.NoError(t, err)
	require.Equal(t, noon.Add(2*model.LinkWindow), till)
}

func TestSettled(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.status.Store("two", 503)
	settled := func(e *model.Export) bool {
		is, err := b.Settled(t.Context(), e)
		require.NoError(t, err)
		return is
	}
	require.True(t, settled(b.accept()))
	e := b.accept("one", "two")
	require.False(t, settled(e))
	b.fetch(e)
	require.False(t, settled(e))
	b.advance(model.DocumentWindow)
	require.True(t, settled(e))
}
