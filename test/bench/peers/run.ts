import { runBench } from '../run-bench.ts';
import { benchReceiving } from './receiving.ts';
import { benchSubmission } from './submission.ts';

const usage = `usage: npm run bench:peers -- [--only NAME,NAME] [--quick] [--json FILE] [--profile DIR]
Measures rasket beside Postfix with OpenDKIM, Postfix with rspamd, and Haraka: as root, on loopback and in temporary folders.
It needs Debian's postfix, opendkim and rspamd, and Haraka in .cache/peers; what is missing is named and left out.`;

runBench({ usage, rows: { submission: benchSubmission, receiving: benchReceiving }, limitMinutes: 15 });
