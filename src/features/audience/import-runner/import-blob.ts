/** Where an import's file stands among the blobs. */
export const importBlob = (id: string): string => `${id}/file.csv`;
