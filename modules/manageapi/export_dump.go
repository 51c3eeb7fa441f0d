package manageapi

import (
	"errors"
	"fmt"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// writeExports writes the exports about the candidate, received ones and those that began here.
func (d *dump) writeExports() error {
	filter := d.exports(store.MaxPage)
	for n := 0; ; {
		page, next, err := d.DB.ListExports(d.Context(), filter)
		if err != nil {
			return err
		}
		for _, e := range page {
			n++
			d.audit = append(d.audit, store.AuditFilter{Object: model.ExportObject(e)})
			if err := d.writeExport(fmt.Sprintf("exports/%04d/", n), e); err != nil {
				return err
			}
		}
		if filter.Cursor = next; next == 0 {
			return nil
		}
	}
}

func (d *dump) writeExport(folder string, e *model.Export) error {
	detail, err := detailOf(d.Request, e)
	err = d.archive.json(folder+"export.json", "an export, its deliveries, and what came of each attempt", detail, err)
	if err != nil {
		return err
	}
	err = d.DB.LoadBody(d.Context(), e)
	if err := d.archive.bytes(folder+"received.json", "the body, byte for byte", e.Body, err); err != nil {
		return err
	}
	if len(e.Link)+len(e.ExportContext) > 0 {
		err := d.archive.json(folder+"headers.json", "headers that came with the body",
			map[string]string{"Link": string(e.Link), "Export-Context": string(e.ExportContext)}, nil)
		if err != nil {
			return err
		}
	}
	for _, mode := range []model.DocumentMode{model.Rehost, model.Inline, model.Passthrough} {
		body, err := d.DB.Outgoing(d.Context(), e.ID, mode)
		err = d.archive.bytes(folder+"sent-"+string(mode)+".json", "the body as it went out; without such a file, as it came",
			body, err)
		if err != nil {
			return err
		}
	}
	if err := d.writeEarlierAttempts(folder, e); err != nil {
		return err
	}
	return d.writeExportDocuments(folder, e)
}

func (d *dump) writeEarlierAttempts(folder string, e *model.Export) error {
	deliveries, err := d.DB.ListDeliveries(d.Context(), e.ID)
	if err != nil {
		return err
	}
	file := 0
	for _, delivery := range deliveries {
		shown, err := d.DB.ListAttempts(d.Context(), delivery.ID)
		if errors.Is(err, store.ErrUnreadable) { // the export's detail lacks them as well
			continue
		}
		if err != nil {
			return err
		}
		of := answersOf(d.Request, delivery.Tenant, delivery.Integration)
		for len(shown) > 0 {
			page, err := d.DB.ListEarlierAttempts(d.Context(), delivery.ID, shown[0].Number)
			if err == nil && len(page) == 0 {
				break
			}
			file++
			part := api.DumpedAttempts{Integration: delivery.Integration, Round: delivery.Round}
			for _, a := range page {
				part.Attempts = append(part.Attempts, attemptOf(a, of))
			}
			err = d.archive.json(fmt.Sprintf("%sattempts-%04d.json", folder, file), "earlier attempts of a delivery", part, err)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			shown = page[len(page)-1:]
		}
	}
	return nil
}

func (d *dump) writeExportDocuments(folder string, e *model.Export) error {
	documents, err := d.DB.ListDocuments(d.Context(), e.ID)
	if err == nil && len(documents) == 0 {
		return nil
	}
	all := make([]api.DumpedDocument, len(documents))
	for n, one := range documents {
		all[n] = api.DumpedDocument{ExportDocument: exportDocumentOf(one), FileName: one.FileName}
		if one.Blob == "" {
			continue
		}
		name := fmt.Sprintf("%sdocuments/%04d", folder, one.Position+1)
		if all[n].File, err = d.archive.document(name, one.Blob, one.Size, one.SHA256); err != nil {
			return err
		}
	}
	return d.archive.json(folder+"documents.json", "the documents, with their names and files", all, err)
}
