package app

import (
	"cmp"
	"errors"
	"fmt"

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

// build resolves the placeholders. address is that of documents.
func (b Bucket) build(address string, resolve resolve, dev bool) (s documents.Bucket, err error) {
	if b == (Bucket{}) {
		return s, nil
	}
	if !documents.IsBucket(address) {
		return s, errors.New("documents takes a block only with a bucket, s3://bucket/prefix: leave out the braces and " +
			"what is between them")
	}
	for _, one := range []struct {
		option, written string
		to              *string
	}{{"endpoint", b.Endpoint, &s.Endpoint}, {"region", b.Region, &s.Region}, {"encryption", b.Encryption, &s.Encryption}} {
		if *one.to, err = resolve(one.written); err != nil {
			return s, Unset(one.option, err)
		}
	}
	for _, one := range []struct {
		option, written string
		to              *string
	}{{"access_key", b.AccessKey, &s.AccessKey}, {"secret_key", b.SecretKey, &s.SecretKey}} {
		if one.written == "" {
			continue
		}
		secret, err := secretFrom(one.written, dev, resolve)
		if err != nil {
			return s, fmt.Errorf("%s: %w", one.option, err)
		}
		*one.to = string(secret)
	}
	return s, s.Validate()
}

func (p *parser) documents() (err error) {
	if p.app.Documents, err = p.text(exampleDocuments, p.inMode(checkDocuments)); err != nil {
		return err
	}
	b := &p.app.Bucket
	return p.block(func() (err error) {
		option := p.Val()
		switch option {
		case "endpoint":
			b.Endpoint, err = p.text("https://s3.eu-central-1.amazonaws.com", anything)
		case "region":
			b.Region, err = p.text("eu-central-1", anything)
		case "encryption":
			b.Encryption, err = p.text("AES256", anything)
		case "access_key":
			b.AccessKey, err = p.argument("{env.AWS_ACCESS_KEY_ID}")
			p.atEnd(func() error { return checkSecret(b.AccessKey, p.app.Dev) })
		case "secret_key":
			b.SecretKey, err = p.argument("{env.AWS_SECRET_ACCESS_KEY}")
			p.atEnd(func() error { return checkSecret(b.SecretKey, p.app.Dev) })
		default:
			return p.unknown("endpoint, region, access_key, secret_key or encryption")
		}
		return cmp.Or(err, p.noBlock(option))
	})
}
