<?php
spin();
class Loaded
{
}
