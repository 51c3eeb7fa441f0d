//go:build linux && cgo

#include <stdlib.h>
#include <string.h>

#include "vfs.h"

// SQLite's own file, which its methods go on working with, has this behind it.
typedef struct pending {
	const sqlite3_io_methods *real;
	sqlite3_io_methods methods; // the real ones but for those below
	char *bytes;                // NULL until the first write: connections that only read need none
	int amount;                 // of them
	sqlite3_int64 offset;       // of the bytes in the file; without any, where the last write ended
	int commits;                // the frame whose header came last ends a transaction
} pending;

// SQLite's unix VFS writes less than 128 KiB at a time.
enum { capacity = 64 << 10 };

// The write-ahead log (https://sqlite.org/fileformat2.html#walformat) has a header and then frames, each a header and a page.
enum { logHeader = 32, frameHeader = 24 };

static sqlite3_vfs *unixVFS, vfs;
static int pendingAt; // bytes from the start of a file

static pending *of(sqlite3_file *f) { return (pending *)((char *)f + pendingAt); }

// flush writes what is kept back. What could not be written is forgotten: SQLite, told of it while it writes or syncs, gives its
// transaction up, and puts the next one in its place.
static int flush(sqlite3_file *f)
{
	pending *p = of(f);
	int amount = p->amount;
	p->amount = 0;
	if (amount == 0)
		return SQLITE_OK;
	int rc = p->real->xWrite(f, p->bytes, amount, p->offset);
	if (rc == SQLITE_OK)
		p->offset += amount;
	return rc;
}

// endsTransaction tells whether what is written is the header of a frame that ends a transaction: the second of its numbers, the
// pages of the database after a commit, is 0 in the others.
static int endsTransaction(const unsigned char *bytes, int amount, sqlite3_int64 offset)
{
	return amount == frameHeader && offset >= logHeader && (bytes[4] | bytes[5] | bytes[6] | bytes[7]) != 0;
}

// settle is flush for what comes between the writes of a transaction. Of a full disk SQLite may only undo the statement that met it, and go
// on with a transaction whose pages are gone; after an I/O error it undoes all of it.
static int settle(sqlite3_file *f) { return flush(f) == SQLITE_OK ? SQLITE_OK : SQLITE_IOERR; }

static int writeThrough(sqlite3_file *f, const void *bytes, int amount, sqlite3_int64 offset)
{
	int rc = of(f)->real->xWrite(f, bytes, amount, offset);
	if (rc == SQLITE_OK)
		of(f)->offset = offset + amount;
	return rc;
}

static int walWrite(sqlite3_file *f, const void *bytes, int amount, sqlite3_int64 offset)
{
	pending *p = of(f);
	int complete = p->commits;
	p->commits = endsTransaction(bytes, amount, offset);
	int appended = offset == p->offset + p->amount;
	if (!appended || amount > capacity - p->amount) {
		int rc = flush(f);
		if (rc != SQLITE_OK)
			return rc;
	}
	if (p->bytes == NULL)
		p->bytes = malloc(capacity);
	if (!appended || amount > capacity || p->bytes == NULL)
		return writeThrough(f, bytes, amount, offset);
	memcpy(p->bytes + p->amount, bytes, amount);
	p->amount += amount;
	return complete ? flush(f) : SQLITE_OK;
}

static int walSync(sqlite3_file *f, int flags)
{
	int rc = flush(f);
	return rc != SQLITE_OK ? rc : of(f)->real->xSync(f, flags);
}

static int walRead(sqlite3_file *f, void *bytes, int amount, sqlite3_int64 offset)
{
	int rc = settle(f);
	return rc != SQLITE_OK ? rc : of(f)->real->xRead(f, bytes, amount, offset);
}

static int walTruncate(sqlite3_file *f, sqlite3_int64 size)
{
	int rc = settle(f);
	return rc != SQLITE_OK ? rc : of(f)->real->xTruncate(f, size);
}

static int walFileSize(sqlite3_file *f, sqlite3_int64 *size)
{
	int rc = settle(f);
	return rc != SQLITE_OK ? rc : of(f)->real->xFileSize(f, size);
}

static int walClose(sqlite3_file *f)
{
	pending *p = of(f);
	int flushed = flush(f);
	int closed = p->real->xClose(f);
	free(p->bytes);
	return flushed != SQLITE_OK ? flushed : closed;
}

static int openFile(sqlite3_vfs *ours, const char *name, sqlite3_file *f, int flags, int *flagsOut)
{
	int rc = unixVFS->xOpen(unixVFS, name, f, flags, flagsOut);
	if (rc != SQLITE_OK || !(flags & SQLITE_OPEN_WAL) || f->pMethods->iVersion != 3)
		return rc;
	pending *p = of(f);
	memset(p, 0, sizeof *p);
	p->real = f->pMethods;
	p->methods = *p->real;
	p->methods.xClose = walClose;
	p->methods.xRead = walRead;
	p->methods.xWrite = walWrite;
	p->methods.xTruncate = walTruncate;
	p->methods.xSync = walSync;
	p->methods.xFileSize = walFileSize;
	f->pMethods = &p->methods;
	return SQLITE_OK;
}

// walvfs_register makes the file system known to SQLite under a name, which must stay in memory. It gives a result code of
// SQLite.
int walvfs_register(const char *name)
{
	unixVFS = sqlite3_vfs_find("unix");
	if (unixVFS == NULL || unixVFS->iVersion != 3)
		return SQLITE_ERROR;
	vfs = *unixVFS;
	pendingAt = (unixVFS->szOsFile + 15) & ~15;
	vfs.szOsFile = pendingAt + (int)sizeof(pending);
	vfs.pNext = NULL;
	vfs.zName = name;
	vfs.xOpen = openFile;
	return sqlite3_vfs_register(&vfs, 0);
}
