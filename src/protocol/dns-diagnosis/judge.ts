import { judgeCaa } from './caa-rules.ts';
import { judgeDkim } from './dkim-rules.ts';
import { judgeDmarc } from './dmarc-rules.ts';
import { judgeCname, judgeMx } from './host-rules.ts';
import type { Answer, Judgement, Observations, Wanted } from './observations.ts';
import { quoted, textOf } from './shown.ts';
import { judgeSpf } from './spf-rules.ts';
import { shapeFault } from './text-shape.ts';

/** More than this is no record set of a person's, and reading it all is work for whoever wrote it. */
const RECORDS_MAX = 20;
/** A key of 4096 bits takes 750 of them. */
const CHARS_MAX = 2048;

/** Holds one answer against what was asked for. */
export function judgeAnswer(wanted: Wanted, answer: Answer, seen: Partial<Observations> = {}): Judgement {
  switch (answer.kind) {
    case 'failed':
      return { verdict: 'unknown', sentence: null };
    case 'none':
      return { verdict: 'absent', sentence: null };
    case 'found':
      return judgeRecords(wanted, readable(answer.records), seen);
  }
}

const readable = (records: readonly string[]): string[] =>
  records.slice(0, RECORDS_MAX).map((record) => textOf(record.slice(0, CHARS_MAX)));

function judgeRecords(wanted: Wanted, records: readonly string[], seen: Partial<Observations>): Judgement {
  switch (wanted.type) {
    case 'MX':
      return judgeMx(wanted, records, seen);
    case 'CNAME':
      return judgeCname(wanted, records, seen);
    case 'CAA':
      return judgeCaa(wanted, records);
    case 'TXT':
      return judgeText(wanted, records, seen);
  }
}

function judgeText(wanted: Wanted, texts: readonly string[], seen: Partial<Observations>): Judgement {
  if (wanted.record === 'DKIM') return judgeDkim(wanted, texts, seen.siblings);
  if (wanted.record === 'SPF') return judgeSpf(wanted, texts, seen.spf);
  if (wanted.record === 'DMARC') return judgeDmarc(wanted, texts, seen.siblings);
  return judgeProof(wanted, texts);
}

/** A text that proves something stands as it is, beside whatever else the name has. */
function judgeProof(wanted: Wanted, texts: readonly string[]): Judgement {
  if (texts.includes(wanted.value)) return { verdict: 'right', sentence: null };
  for (const text of texts) {
    const fault = shapeFault(text, (repaired) => repaired === wanted.value);
    if (fault) return { verdict: 'wrong', sentence: `The TXT record at ${wanted.name} ${fault}.` };
  }
  const label = wanted.value.split('=', 1)[0] ?? '';
  const similar = label === wanted.value ? undefined : texts.find((text) => text.startsWith(`${label}=`));
  if (similar === undefined) return { verdict: 'absent', sentence: null };
  return {
    verdict: 'wrong',
    sentence: `The TXT record at ${wanted.name} says ${quoted(similar)}; it must be the value shown.`,
  };
}
