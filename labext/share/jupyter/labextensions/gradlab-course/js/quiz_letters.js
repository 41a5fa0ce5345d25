// A quiz's letters in the source of its exercise's cell.

const RETURN = /^ {4}return (\{.*\}) *$/m;
const STUB = /^ {4}# YOUR CODE HERE\n {4}raise NotImplementedError\(\) *$/m;

/** Read {q1: 'ac', ...} from the exercise's cell; null if the student wrote it in another form. */
export function readLetters(source) {
  const match = RETURN.exec(source);
  if (!match) return STUB.test(source) ? {} : null;
  try {
    return JSON.parse(match[1]);
  } catch {
    return null;
  }
}

/** Write these letters into the cell's source. */
export function writeLetters(source, letters) {
  const line = () => `    return ${JSON.stringify(letters).replaceAll('":"', '": "').replaceAll('","', '", "')}`;
  return source.replace(RETURN.test(source) ? RETURN : STUB, line);
}
