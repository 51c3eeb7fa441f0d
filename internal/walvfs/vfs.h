// What walvfs.c needs of SQLite's interface to file systems (https://sqlite.org/c3ref/vfs.html), whose layout SQLite keeps
// from version to version. SQLite itself is linked in with the driver, which has no header for others.

typedef long long int sqlite3_int64;
typedef struct sqlite3_file sqlite3_file;
typedef struct sqlite3_vfs sqlite3_vfs;

typedef struct sqlite3_io_methods {
	int iVersion;
	int (*xClose)(sqlite3_file *);
	int (*xRead)(sqlite3_file *, void *, int amount, sqlite3_int64 offset);
	int (*xWrite)(sqlite3_file *, const void *, int amount, sqlite3_int64 offset);
	int (*xTruncate)(sqlite3_file *, sqlite3_int64 size);
	int (*xSync)(sqlite3_file *, int flags);
	int (*xFileSize)(sqlite3_file *, sqlite3_int64 *size);
	void (*others[12])(void); // locks, file controls, shared memory: passed on as they are
} sqlite3_io_methods;

struct sqlite3_file {
	const sqlite3_io_methods *pMethods;
};

struct sqlite3_vfs {
	int iVersion;
	int szOsFile;
	int mxPathname;
	sqlite3_vfs *pNext;
	const char *zName;
	void *pAppData;
	int (*xOpen)(sqlite3_vfs *, const char *name, sqlite3_file *, int flags, int *flagsOut);
	void (*others[15])(void); // deleting, sleeping, and the like: passed on as they are
};

enum { SQLITE_OK = 0, SQLITE_ERROR = 1, SQLITE_IOERR = 10, SQLITE_OPEN_WAL = 0x00080000 };

// Weak, because cgo links this package alone once, without the driver.
sqlite3_vfs *sqlite3_vfs_find(const char *name) __attribute__((weak));
int sqlite3_vfs_register(sqlite3_vfs *, int makeDefault) __attribute__((weak));
