/* A disk with a volatile write cache, as one file of a FUSE file system: FOLDER/disk.
 *
 *     slow_disk IMAGE FOLDER FLUSH_MICROSECONDS [WRITE_MICROSECONDS]
 *
 * Writes land in memory. A flush (fsync) takes the time given, and then what was written before it began is in IMAGE.
 * With WRITE_MICROSECONDS the cache is off: each write takes that time, one after the other, and is in IMAGE then.
 * SIGUSR1 is a power cut: what was not flushed is gone, and every later request fails with EIO. FOLDER/counts has the
 * numbers of writes and flushes so far. slow_disk.py starts it; a loop device over FOLDER/disk is the disk.
 */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 4096

static int image;
static off_t size; /* bytes, whole blocks */
static char *contents; /* of the disk as its user sees it: a private map of the image */
static unsigned char *unflushed; /* one per block */
static useconds_t flush_microseconds, write_microseconds;
static atomic_long writes, flushes;
static volatile sig_atomic_t is_cut;
static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER; /* contents and unflushed */
static pthread_mutex_t head = PTHREAD_MUTEX_INITIALIZER; /* one flush, or slow write, at a time, as a disk does it */

static void cut_power(int number)
{
    (void)number;
    is_cut = 1;
}

static int is_disk(const char *path) { return strcmp(path, "/disk") == 0; }

static int is_counts(const char *path) { return strcmp(path, "/counts") == 0; }

static int get_attributes(const char *path, struct stat *found, struct fuse_file_info *opened)
{
    (void)opened;
    memset(found, 0, sizeof *found);
    if (strcmp(path, "/") == 0) {
        found->st_mode = S_IFDIR | 0755;
        found->st_nlink = 2;
    } else if (is_disk(path)) {
        found->st_mode = S_IFREG | 0600;
        found->st_nlink = 1;
        found->st_size = size;
    } else if (is_counts(path)) {
        found->st_mode = S_IFREG | 0444;
        found->st_nlink = 1;
    } else {
        return -ENOENT;
    }
    return 0;
}

static int list(const char *path, void *names, fuse_fill_dir_t add, off_t offset, struct fuse_file_info *opened,
                enum fuse_readdir_flags flags)
{
    (void)path, (void)offset, (void)opened, (void)flags;
    add(names, "disk", NULL, 0, 0);
    add(names, "counts", NULL, 0, 0);
    return 0;
}

static int open_file(const char *path, struct fuse_file_info *opened)
{
    opened->direct_io = 1; /* no page cache between the loop device and this cache */
    return is_disk(path) || is_counts(path) ? 0 : -ENOENT;
}

static int read_counts(char *into, size_t length, off_t offset)
{
    char text[80];
    int written = snprintf(text, sizeof text, "writes %ld\nflushes %ld\n", atomic_load(&writes), atomic_load(&flushes));
    if (offset >= written)
        return 0;
    if (length > (size_t)(written - offset))
        length = written - offset;
    memcpy(into, text + offset, length);
    return (int)length;
}

static int read_file(const char *path, char *into, size_t length, off_t offset, struct fuse_file_info *opened)
{
    (void)opened;
    if (is_counts(path))
        return read_counts(into, length, offset);
    if (is_cut)
        return -EIO;
    if (offset >= size)
        return 0;
    if (length > (size_t)(size - offset))
        length = size - offset;
    pthread_mutex_lock(&cache);
    memcpy(into, contents + offset, length);
    pthread_mutex_unlock(&cache);
    return (int)length;
}

static int write_through(const char *from, size_t length, off_t offset)
{
    pthread_mutex_lock(&head);
    usleep(write_microseconds);
    int failed = is_cut || pwrite(image, from, length, offset) != (ssize_t)length;
    pthread_mutex_unlock(&head);
    return failed;
}

static int write_file(const char *path, const char *from, size_t length, off_t offset, struct fuse_file_info *opened)
{
    (void)path, (void)opened;
    if (length == 0)
        return 0;
    if (offset >= size || length > (size_t)(size - offset))
        return -ENOSPC;
    int failed = write_microseconds && write_through(from, length, offset);
    pthread_mutex_lock(&cache);
    failed = failed || is_cut;
    if (!failed) {
        memcpy(contents + offset, from, length);
        if (!write_microseconds)
            memset(unflushed + offset / BLOCK, 1, (offset + length - 1) / BLOCK - offset / BLOCK + 1);
        atomic_fetch_add(&writes, 1);
    }
    pthread_mutex_unlock(&cache);
    return failed ? -EIO : (int)length;
}

/* Copy what is not flushed, and call it flushed: what is written from now on belongs to the next flush. */
static size_t take_unflushed(size_t **numbers, char **blocks)
{
    size_t count = 0, all = (size_t)(size / BLOCK);
    pthread_mutex_lock(&cache);
    for (size_t number = 0; number < all; number++)
        count += unflushed[number];
    *numbers = malloc((count + 1) * sizeof **numbers);
    *blocks = malloc((count + 1) * BLOCK);
    if (*numbers == NULL || *blocks == NULL)
        abort();
    for (size_t number = 0, taken = 0; taken < count; number++) {
        if (!unflushed[number])
            continue;
        (*numbers)[taken] = number;
        memcpy(*blocks + taken * BLOCK, contents + number * BLOCK, BLOCK);
        unflushed[number] = 0;
        taken++;
    }
    pthread_mutex_unlock(&cache);
    return count;
}

static int flush(const char *path, int data_only, struct fuse_file_info *opened)
{
    (void)path, (void)data_only, (void)opened;
    size_t *numbers;
    char *blocks;
    int failed = 0;
    pthread_mutex_lock(&head);
    size_t count = take_unflushed(&numbers, &blocks);
    if (flush_microseconds)
        usleep(flush_microseconds);
    if (is_cut) {
        failed = -EIO;
    } else {
        for (size_t taken = 0; taken < count; taken++)
            if (pwrite(image, blocks + taken * BLOCK, BLOCK, (off_t)numbers[taken] * BLOCK) != BLOCK)
                failed = -EIO;
        atomic_fetch_add(&flushes, 1);
    }
    pthread_mutex_unlock(&head);
    free(numbers);
    free(blocks);
    return failed;
}

static const struct fuse_operations operations = {
    .getattr = get_attributes,
    .readdir = list,
    .open = open_file,
    .read = read_file,
    .write = write_file,
    .fsync = flush,
};

int main(int count, char **arguments)
{
    struct stat found;
    if (count != 4 && count != 5) {
        fprintf(stderr, "usage: slow_disk IMAGE FOLDER FLUSH_MICROSECONDS [WRITE_MICROSECONDS]\n");
        return 2;
    }
    image = open(arguments[1], O_RDWR | O_CLOEXEC);
    if (image < 0 || fstat(image, &found) != 0 || found.st_size % BLOCK != 0) {
        perror("slow_disk: the image is no file of whole blocks");
        return 1;
    }
    size = found.st_size;
    flush_microseconds = (useconds_t)atol(arguments[3]);
    write_microseconds = count == 5 ? (useconds_t)atol(arguments[4]) : 0;
    contents = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, image, 0);
    unflushed = calloc(size / BLOCK, 1);
    if (contents == MAP_FAILED || unflushed == NULL) {
        perror("slow_disk: no memory for the disk");
        return 1;
    }
    signal(SIGUSR1, cut_power);
    char *mounting[] = {arguments[0], "-f", "-o", "fsname=slow_disk", arguments[2], NULL};
    return fuse_main(5, mounting, &operations, NULL);
}
