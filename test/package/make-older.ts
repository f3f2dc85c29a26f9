/** Takes the last migrations of a data folder back: `node make-older.ts FOLDER COUNT`; prints their names. */
import path from 'node:path';
import { openDb } from '../../src/platform/db/index.ts';
import { takeBack } from '../rig/older-schema.ts';

const [folder = '', count = '1'] = process.argv.slice(2);
const db = await openDb({ driver: 'better-sqlite3', file: path.join(folder, 'rasket.db'), url: '', poolMax: 1 });
console.log((await takeBack(db, Number(count))).join('\n'));
await db.close();
