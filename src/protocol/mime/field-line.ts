const columnsMax = 78;
// RFC 2047 §2: a line that holds an encoded-word has at most 76 characters.
const columnsWithWordMax = 76;
const wordCharsMax = 75;

/** Collects the value of one header field and breaks the line before a piece that would not fit. */
export class FieldLine {
  text = '';
  private column: number;

  constructor(name: string) {
    this.column = name.length + 2;
  }

  /** Whether a piece of that length can stay in one line, here or after a break. */
  takesWhole(chars: number): boolean {
    return chars + (this.text === '' ? this.column : 1) <= columnsMax;
  }

  /** How long an encoded-word may be to stand on the current line; a full line's worth when that is too little to be useful. */
  roomForWord(): number {
    const room = columnsWithWordMax - this.column - (this.text === '' ? 0 : 1);
    return room < 24 ? wordCharsMax : Math.min(room, wordCharsMax);
  }

  /** Adds a piece that brings its own white space, or is set apart by one space. */
  add(piece: string, columns = columnsMax): void {
    const spaced = this.text === '' || piece.startsWith(' ') || piece.startsWith('\t') ? piece : ` ${piece}`;
    if (this.text !== '' && this.column + spaced.length > columns) {
      this.text += '\r\n';
      this.column = 0;
    }
    this.text += spaced;
    this.column += spaced.length;
  }

  addWord(word: string): void {
    // A field name so long that no word fits beside it is left alone on its line.
    if (this.text === '' && this.column + word.length > columnsWithWordMax) {
      this.text = `\r\n ${word}`;
      this.column = word.length + 1;
    } else this.add(word, columnsWithWordMax);
  }
}

/** Cuts before each run of white space; a run stays with what follows it, so no folded line is ever blank. */
export function pieces(text: string): string[] {
  return text.split(/(?<=[^ \t])(?=[ \t]+[^ \t])/);
}
