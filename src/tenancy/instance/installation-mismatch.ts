/**
 * Database, data folder, blobs and key belong to one installation: its id stands sealed in the database and plainly in
 * both folders, or in the bucket of the blobs. On a database of another installation, or an empty one, every blob would look as if no row named it.
 */
export class InstallationMismatch extends Error {
  override readonly name: string = 'InstallationMismatch';
}
