package documents

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/schemas"
)

// MaxInline limits the documents within the body of an export, in decoded bytes (docs/behaviour.md, "Documents").
const MaxInline = 10 << 20

// attachmentMembers estimates how much longer an attachment becomes with our URL, or with a document without its
// content.
const attachmentMembers = 512

// OutgoingBody returns the body with which an export is delivered in a document mode; the export's own body is loaded.
// A body that differs from the received one is built once and stored, so that every attempt sends the same bytes.
//
// Rehost replaces the sender's document URLs with ours and keeps every other byte. Inline also adds each document after
// its URL, if it was fetched and fits. The URLs of an export that was triggered here are already ours.
func (a *Archive) OutgoingBody(ctx context.Context, e *model.Export, mode model.DocumentMode) ([]byte, error) {
	if asItCame(e, mode) {
		return e.Body, nil
	}
	body, err := a.Store.Outgoing(ctx, e.ID, mode)
	if !errors.Is(err, store.ErrNotFound) {
		return body, err
	}
	docs, err := a.documents(ctx, e)
	if err != nil {
		return nil, err
	}
	urls, hashes, err := a.links(e, docs)
	if err != nil {
		return nil, err
	}
	made, err := a.write(ctx, e, docs, urls, mode == model.Inline)
	if err != nil {
		return nil, err
	}
	kept, err := a.Store.SealOutgoing(e.ID, mode, made)
	if err != nil {
		return nil, fmt.Errorf("sealing the body as it goes out: %w", err)
	}
	// The URLs outlive the deliveries by as much as after receipt, also if a later round is the first with this mode.
	till := e.DeliverTill.Add(model.LinkWindow - model.DeliveryWindow)
	enter := func(tx *store.Tx, from, to int) error {
		for n := from; n < to; n++ {
			if err := tx.InsertLink(hashes[n], docs[n].ID, till); err != nil {
				return err
			}
		}
		return nil
	}
	entered := 0
	// The URLs before the last chunk are unknown to anyone unless the body is stored.
	for ; len(hashes)-entered > rowsAtOnce; entered += rowsAtOnce {
		err := a.Store.Write(ctx, func(tx *store.Tx) error { return enter(tx, entered, entered+rowsAtOnce) })
		if err != nil {
			return nil, fmt.Errorf("keeping the addresses of documents: %w", err)
		}
	}
	var first bool
	err = a.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if first, err = tx.InsertOutgoing(e.ID, mode, kept); err != nil || !first {
			return err
		}
		return enter(tx, entered, len(hashes))
	})
	if err != nil {
		return nil, fmt.Errorf("keeping the body as it goes out: %w", err)
	}
	if !first { // another integration's attempt came first
		return a.Store.Outgoing(ctx, e.ID, mode)
	}
	return made.Bytes(), nil
}

// asItCame reports whether the body of an export is sent unchanged.
func asItCame(e *model.Export, mode model.DocumentMode) bool {
	return e.Attachments == 0 || mode == model.Passthrough || mode == model.Rehost && e.Origin == model.Triggered
}

// OutgoingSize estimates the memory that OutgoingBody takes, in bytes, with the export's own body, before any of it is
// read.
func (a *Archive) OutgoingSize(ctx context.Context, e *model.Export, mode model.DocumentMode) (int64, error) {
	if asItCame(e, mode) {
		return e.Size, nil
	}
	size := 2*e.Size + int64(e.Attachments)*attachmentMembers
	if mode != model.Inline {
		return size, nil
	}
	docs, err := a.documents(ctx, e)
	if err != nil {
		return 0, err
	}
	content := int64(0)
	for _, d := range docs {
		content += d.Size
	}
	return size + int64(base64.StdEncoding.EncodedLen(int(min(content, MaxInline)))), nil
}

// links creates a public URL for each document of a received export; a triggered one already has them.
func (a *Archive) links(e *model.Export, docs []*model.Document) (urls []string, hashes [][32]byte, err error) {
	if e.Origin == model.Triggered {
		return nil, nil, nil
	}
	c := a.InForce.Current()
	if c == nil {
		return nil, nil, errors.New("the gateway is stopping")
	}
	urls, hashes = make([]string, len(docs)), make([][32]byte, len(docs))
	for n := range docs {
		var token string
		token, hashes[n] = NewToken()
		urls[n] = URL(c.PublicURL, token)
	}
	return urls, hashes, nil
}

// write builds the body with these URLs and with the documents that fit. It writes their base64, up to 10 MiB, in
// place.
func (a *Archive) write(ctx context.Context, e *model.Export, docs []*model.Document, urls []string,
	inline bool) (*store.KeptBody, error) {
	parsed, err := a.attachments(ctx, e)
	if err != nil {
		return nil, err
	}
	size := len(e.Body)
	for _, u := range urls {
		size += len(u) + len(`""`)
	}
	if !inline {
		out := store.NewKeptBody(size)
		return out, parsed.RewriteTo(out, e.Body, urls, nil)
	}
	chosen := choose(docs, parsed)
	for _, d := range docs {
		if chosen[d.Position] {
			size += len(DocumentMember) + int(EncodedLength(d.Size, d.MediaType(), d.FileName))
		}
	}
	out := store.NewKeptBody(size)
	err = parsed.RewriteTo(out, e.Body, urls, func(n int) error {
		if n < len(docs) && chosen[n] {
			return a.inline(out, docs[n])
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("putting documents into a body: %w", err)
	}
	return out, nil
}

// choose selects the documents that go into a body: in the order of the attachments, each that was fetched and fits. An
// attachment that already has a document keeps it.
func choose(docs []*model.Document, parsed *schemas.Document) map[int]bool {
	chosen, left := map[int]bool{}, int64(MaxInline)
	for n, d := range docs {
		if d.State == model.Fetched && d.Size <= left && n < len(parsed.Attachments) &&
			!parsed.Attachments[n].HasDocument {
			chosen[n] = true
			left -= d.Size
		}
	}
	return chosen
}

// DocumentMember begins the member of an attachment that holds its Document object. It follows other members.
const DocumentMember = `,"document":`

// inline writes a document as a further member of its attachment. A document whose file is gone is left out; one whose
// file is damaged is store.ErrUnreadable.
func (a *Archive) inline(out *store.KeptBody, d *model.Document) error {
	content, err := a.Files.OpenWhole(d.Blob, d.Size, d.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer content.Close()
	if _, err := io.WriteString(out, DocumentMember); err != nil {
		return err
	}
	return EncodeObject(out, content, d.Size, d.MediaType(), d.FileName)
}

// Settled reports whether all documents of an export are final (fetched, found clean or given up) or their URLs have
// ended.
func (a *Archive) Settled(ctx context.Context, e *model.Export) (bool, error) {
	if e.Attachments == 0 || !a.Now().Before(e.DocumentsTill) {
		return true, nil
	}
	docs, err := a.documents(ctx, e)
	if err != nil {
		return false, err
	}
	return a.progress(docs).Missing == 0, nil
}
