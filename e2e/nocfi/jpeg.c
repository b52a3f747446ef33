/* Compresses a picture (binary PPM) and decompresses it, for ever. */
#include <stdio.h>
#include <jpeglib.h>
#include <stdlib.h>

static unsigned char *pixels;
static unsigned width, height;

static int load(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fscanf(f, "P6 %u %u 255", &width, &height) != 2 || width > 10000 || height > 10000)
        return -1;
    fgetc(f);
    pixels = malloc(3ul * width * height);
    return pixels && fread(pixels, 3ul * width, height, f) == height ? 0 : -1;
}

static void compress(unsigned char **out, unsigned long *len)
{
    struct jpeg_error_mgr errors;
    struct jpeg_compress_struct c = {.err = jpeg_std_error(&errors)};
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, out, len);
    c.image_width = width;
    c.image_height = height;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < height) {
        JSAMPROW row = pixels + 3ul * width * c.next_scanline;
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
}

static void decompress(const unsigned char *in, unsigned long len)
{
    struct jpeg_error_mgr errors;
    struct jpeg_decompress_struct d = {.err = jpeg_std_error(&errors)};
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, in, len);
    jpeg_read_header(&d, TRUE);
    jpeg_start_decompress(&d);
    while (d.output_scanline < d.output_height) {
        JSAMPROW row = pixels + 3ul * width * d.output_scanline;
        jpeg_read_scanlines(&d, &row, 1);
    }
    jpeg_finish_decompress(&d);
    jpeg_destroy_decompress(&d);
}

int main(int argc, char **argv)
{
    if (argc != 2 || load(argv[1]))
        return 1;
    for (;;) {
        unsigned char *out = NULL;
        unsigned long len = 0;
        compress(&out, &len);
        decompress(out, len);
        free(out);
    }
}
