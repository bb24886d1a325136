// How the clients report: a line for each test, in the form of the other tests' lines.
const path = require('node:path');

const client = path.basename(process.argv[1], '.js');

// Run a test; it fails if it throws.
exports.test = async (what, run) => {
  try {
    await run();
    console.log(`ok - ${client}: ${what}`);
  } catch (e) {
    console.log(`not ok - ${client}: ${what}\n${(e.stack || String(e)).replace(/^/gm, '    ')}`);
    process.exitCode = 1;
  }
};

// The error that a promise ends with.
exports.failure = async promise => {
  let result;
  try {
    result = await promise;
  } catch (e) {
    return e;
  }
  throw new Error(`no error, but ${JSON.stringify(result)}`);
};

// Ask again until the answer is as wanted; it is an error only if it never is.
exports.until = async (ask, wanted) => {
  const end = Date.now() + 600e3;
  for (;;) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    if (Date.now() > end) throw new Error(`still ${JSON.stringify(answer)}`);
    await new Promise(resolve => setTimeout(resolve, 100));
  }
};
