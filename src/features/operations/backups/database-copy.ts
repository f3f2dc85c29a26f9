import type { BackupFacts } from './backup-folder.ts';

/** How the database comes into a backup, whichever it is. */
export interface DatabaseCopy {
  /** The file, within the folder of the backup. */
  name: string;
  write(part: string): Promise<void>;
  /** Throws where a row of the copy names content that was not copied. */
  mustHaveContent(part: string): Promise<void>;
  describe(part: string): Promise<Pick<BackupFacts, 'schema' | 'rows' | 'dump'>>;
}
