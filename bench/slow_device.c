/*
 * slow_device.c
 *	  slow_device MICROSECONDS DIRECTORY MOUNTPOINT [FUSE option…]: shows DIRECTORY at MOUNTPOINT, where
 *	  each read takes so long, as on a disk behind a network.
 *
 * Reads at the same time wait at the same time.  The kernel caches what was read until it is unmounted.
 */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct timespec delay;
static int directory;

static const char *
inside(const char *path)
{
	return path[1] == '\0' ? "." : path + 1;
}

static int
result(int status)
{
	return status < 0 ? -errno : 0;
}

static void *
slow_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
	struct stat st;

	connection->max_background = 1024;
	connection->congestion_threshold = 1024;
	config->use_ino = 1;
	/* nobody else changes the directory, and its owner is whom files that are made belong to */
	config->entry_timeout = config->attr_timeout = 3600;
	if (fstat(directory, &st) != 0 || setgid(st.st_gid) != 0 || setuid(st.st_uid) != 0)
	{
		perror("the directory's owner");
		exit(1);
	}
	return NULL;
}

static int
slow_getattr(const char *path, struct stat *st, struct fuse_file_info *file)
{
	return result(file != NULL ? fstat((int) file->fh, st)
							   : fstatat(directory, inside(path), st, AT_SYMLINK_NOFOLLOW));
}

static int
slow_readdir(const char *path, void *entries, fuse_fill_dir_t fill, off_t offset,
			 struct fuse_file_info *file, enum fuse_readdir_flags flags)
{
	int fd = openat(directory, inside(path), O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	(void) offset, (void) file, (void) flags;
	if (dir == NULL)
		return -errno;
	while ((entry = readdir(dir)) != NULL)
		fill(entries, entry->d_name, NULL, 0, 0);
	closedir(dir);
	return 0;
}

static int
slow_open(const char *path, struct fuse_file_info *file)
{
	int fd = openat(directory, inside(path), file->flags & ~O_DIRECT);

	file->fh = (uint64_t) fd;
	return result(fd);
}

static int
slow_create(const char *path, mode_t mode, struct fuse_file_info *file)
{
	int fd = openat(directory, inside(path), (file->flags & ~O_DIRECT) | O_CREAT, mode);

	file->fh = (uint64_t) fd;
	return result(fd);
}

static int
slow_release(const char *path, struct fuse_file_info *file)
{
	(void) path;
	return result(close((int) file->fh));
}

static int
slow_read(const char *path, char *bytes, size_t size, off_t offset, struct fuse_file_info *file)
{
	ssize_t n;

	(void) path;
	nanosleep(&delay, NULL);
	n = pread((int) file->fh, bytes, size, offset);
	return n < 0 ? -errno : (int) n;
}

static int
slow_write(const char *path, const char *bytes, size_t size, off_t offset,
		   struct fuse_file_info *file)
{
	ssize_t n = pwrite((int) file->fh, bytes, size, offset);

	(void) path;
	return n < 0 ? -errno : (int) n;
}

static int
slow_truncate(const char *path, off_t size, struct fuse_file_info *file)
{
	int fd = file != NULL ? (int) file->fh : openat(directory, inside(path), O_WRONLY);
	int status = fd < 0 ? -errno : result(ftruncate(fd, size));

	if (file == NULL && fd >= 0)
		close(fd);
	return status;
}

static int
slow_fsync(const char *path, int data_only, struct fuse_file_info *file)
{
	(void) path, (void) data_only, (void) file;
	return 0;
}

static int
slow_unlink(const char *path)
{
	return result(unlinkat(directory, inside(path), 0));
}

static int
slow_mkdir(const char *path, mode_t mode)
{
	return result(mkdirat(directory, inside(path), mode));
}

static int
slow_rmdir(const char *path)
{
	return result(unlinkat(directory, inside(path), AT_REMOVEDIR));
}

static int
slow_rename(const char *from, const char *to, unsigned int flags)
{
	return flags != 0 ? -EINVAL : result(renameat(directory, inside(from), directory, inside(to)));
}

static int
slow_chmod(const char *path, mode_t mode, struct fuse_file_info *file)
{
	(void) file;
	return result(fchmodat(directory, inside(path), mode, 0));
}

static const struct fuse_operations operations = {
	.init = slow_init,
	.getattr = slow_getattr,
	.readdir = slow_readdir,
	.open = slow_open,
	.create = slow_create,
	.release = slow_release,
	.read = slow_read,
	.write = slow_write,
	.truncate = slow_truncate,
	.fsync = slow_fsync,
	.unlink = slow_unlink,
	.mkdir = slow_mkdir,
	.rmdir = slow_rmdir,
	.rename = slow_rename,
	.chmod = slow_chmod,
};

int
main(int argc, char **argv)
{
	long microseconds = argc > 3 ? strtol(argv[1], NULL, 10) : -1;

	if (microseconds < 0 || microseconds >= 1000000)
	{
		fprintf(stderr, "usage: %s MICROSECONDS DIRECTORY MOUNTPOINT [FUSE option...]\n", argv[0]);
		return 2;
	}
	delay.tv_nsec = microseconds * 1000;
	directory = open(argv[2], O_RDONLY | O_DIRECTORY);
	if (directory < 0)
	{
		perror(argv[2]);
		return 1;
	}
	argv[2] = argv[0];
	return fuse_main(argc - 2, argv + 2, &operations, NULL);
}
