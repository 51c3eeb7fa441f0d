package app

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/hiregate/hiregate/internal/documents"
)

// Bucket says how the bucket of documents is reached.
type Bucket struct {
	Endpoint string `json:"endpoint,omitempty"` // of the object storage. Default: Amazon's
	Region   string `json:"region,omitempty"`   // default: us-east-1
	// AccessKey and SecretKey are placeholders. Default: those of the environment, or of the machine's role.
	AccessKey string `json:"access_key,omitempty"`
	SecretKey string `json:"secret_key,omitempty"`
	// Encryption at rest, by the server: AES256, or the id of a key of its KMS. Default: its own.
	Encryption string `json:"encryption,omitempty"`
}

// complete returns what is wrong with the block as a whole. address is that of documents.
func (b Bucket) complete(address string) error {
	if b != (Bucket{}) && !documents.IsBucket(address) && !strings.Contains(address, "{") {
		return errors.New("documents takes a block only with a bucket, s3://bucket/prefix: leave out the braces and " +
			"what is between them")
	}
	return documents.Bucket{AccessKey: b.AccessKey, SecretKey: b.SecretKey}.Validate()
}

// build resolves the placeholders. address is that of documents.
func (b Bucket) build(address string, resolve resolve, dev bool) (s documents.Bucket, err error) {
	if err := b.complete(address); err != nil {
		return s, err
	}
	text := func(option, written string) string {
		text, unset := resolve(written)
		if unset != nil {
			err = cmp.Or(err, Unset(option, unset))
		}
		return text
	}
	secret := func(option, written string) string {
		if written == "" {
			return ""
		}
		secret, unset := secretFrom(written, dev, resolve)
		if unset != nil {
			err = cmp.Or(err, fmt.Errorf("%s: %w", option, unset))
		}
		return string(secret)
	}
	s = documents.Bucket{Endpoint: text("endpoint", b.Endpoint), Region: text("region", b.Region),
		AccessKey: secret("access_key", b.AccessKey), SecretKey: secret("secret_key", b.SecretKey),
		Encryption: text("encryption", b.Encryption)}
	return s, cmp.Or(err, s.Validate())
}

func (p *parser) documents() (err error) {
	head := *p.Dispenser
	if p.app.Documents, err = p.text(exampleDocuments, p.inMode(checkDocuments)); err != nil {
		return err
	}
	b := &p.app.Bucket
	err = p.block(func() (err error) {
		option := p.Val()
		switch option {
		case "endpoint":
			b.Endpoint, err = p.text("https://s3.eu-central-1.amazonaws.com",
				func(s string) error { return documents.Bucket{Endpoint: s}.Validate() })
		case "region":
			b.Region, err = p.text("eu-central-1", anything)
		case "access_key":
			b.AccessKey, err = p.argument("{env.AWS_ACCESS_KEY_ID}")
			p.atEnd(func() error { return checkSecret(b.AccessKey, p.app.Dev) })
		case "secret_key":
			b.SecretKey, err = p.argument("{env.AWS_SECRET_ACCESS_KEY}")
			p.atEnd(func() error { return checkSecret(b.SecretKey, p.app.Dev) })
		case "encryption":
			b.Encryption, err = p.text("AES256", anything)
		default:
			return p.unknown("endpoint, region, access_key, secret_key or encryption")
		}
		return cmp.Or(err, p.noBlock(option))
	})
	p.complete(head, b.complete(p.app.Documents))
	return err
}
