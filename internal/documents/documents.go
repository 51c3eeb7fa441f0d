// Package documents handles the files of candidates, as far as no database is needed: keeping them in a folder (Files),
// the contract's Document object (DecodeObject, EncodeObject), getting one from its public URL (Fetch) and giving it
// out under one of ours (NewToken, Serve). No document is ever held in memory whole.
package documents
